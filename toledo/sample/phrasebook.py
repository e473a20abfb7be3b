"""Fixed expressions of the sample: idioms, adverbs, links between clauses, names."""

# Idioms: Talvan verb; its fixed words; English verb phrases. Word by word they mean something else ("sell smoke" is
# to talk nonsense), and their words also occur with their plain meanings. OWN is his, her, its or their.
IDIOMS = """
vend  ; fumon                 ; talk nonsense
perd  ; lon norton            ; lose|lost|lost OWN head / lose|lost|lost control
manj  ; panon nigron          ; go|went|gone through hard times
kos   ; lan bukan             ; keep|kept|kept silent / hold|held|held OWN tongue
kapt  ; lan lunan             ; ask for too much / hope for the impossible
port  ; lar marar ad akvan    ; waste OWN time
met   ; foyor en lon manon    ; run|ran|run a great risk / play with fire
don   ; una rozan             ; pay|paid|paid a compliment
trink ; lan akvan amaran      ; accept defeat / give_up|gave_up|given_up
tir   ; lon kordon            ; go|went|gone too far
romp  ; lan glacan            ; break|broke|broken the silence
dorm  ; rozari sur            ; have|had|had an easy life
vid   ; lois stelois          ; suffer great pain
"""

# Talvan; English.
TIMES = """
ozhe             ; today
en manor         ; in the morning
sempre           ; always / all the time
nokte per nokte  ; every night
sub vesper       ; in the evening / at dusk
lor dinor sekor  ; the next day / the following day
tal vez          ; sometimes / now and then
rar vez          ; rarely / seldom
sur lor alor     ; suddenly / all at once
semane fin       ; at the end of the week
"""

PAST_TIMES = """
heri             ; yesterday
tri dini avan    ; three days ago
anno lasto       ; last year
tunk             ; at that time / in those days
"""

MANNERS = """
rapide      ; quickly / fast
lente       ; slowly
bone        ; well
kon gusto   ; gladly / with pleasure
silente     ; quietly / in silence
sole        ; alone
kon granor  ; with caution / carefully
"""

OPENERS = """
poi             ; then
malgre toto     ; nevertheless / all the same
per fino        ; finally / in the end
de faktu        ; in fact / indeed
per bonar sortar ; fortunately / luckily
"""

# Talvan postpositions; English prepositions.
PLACES = """
en      ; in
apud    ; near / close to
detra   ; behind
avan    ; in front of
"""

COMPANIONS = """
kun     ; with
sin     ; without
per     ; for
"""

CONJUNCTIONS = """
perke   ; because / since
quan    ; when
malke   ; although / though
dum     ; while
poske   ; after
"""

# Names of people are the same in both languages.
MEN = ("alvaro", "gerardo", "yuan", "daniel", "hermano", "ibrahim", "miguel", "rodrigo", "esteban", "tomaso")
WOMEN = ("marta", "elena", "miriam", "sancha", "raquel", "leonor", "beatriz", "ines", "zahra", "luz")

# Some towns have an English name of their own.
TOWNS = """
toledo   ; toledo
hispalia ; seville
ulisea   ; lisbon
korduba  ; cordoba
parisa   ; paris
venedia  ; venice
londra   ; london
kairu    ; cairo
granata  ; granada
segova   ; segovia
"""

# Names that occur in one document only are made of these.
ONSETS, NUCLEI, CODAS = ("b", "d", "dr", "f", "g", "l", "m", "n", "p", "r", "s", "t", "v", "z"), "aeio", "lnrst"
