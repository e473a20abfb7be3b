"""Words of the sample that belong to no topic.

Nouns: Talvan, English (`/` between synonyms, `|` before an irregular plural, `_` for a blank), kind.
Verbs: Talvan (`+` before a separable particle), English (`base|past|participle` if irregular), kinds of subject and
object: `-` for no object, `>place` for a goal, `thing>person` for a thing and its receiver, `clause` for a that-clause.
Adjectives: Talvan, English, kinds of noun they go with; the same Talvan word may mean something else with other kinds.
In each table the frequent words come first.
"""

NOUNS = """
viro       man|men                     person
dama       woman|women/lady            person
puero      boy                         person
pupa       girl                        person
amiko      friend                      person
patro      father                      person
matra      mother                      person
frato      brother                     person
sora       sister                      person
vicino     neighbour                   person
avo        grandfather                 person
ava        grandmother                 person
onklo      uncle                       person
gasta      guest/visitor               person
huno       dog                         animal
katta      cat                         animal
ptiko      bird                        animal
ratu       mouse|mice                  animal
domu       house/home                  thing
porta      door                        thing
libru      book                        thing
litera     letter                      thing
fenestra   window                      thing
klavu      key                         thing
tablu      table                       thing
kofru      box/chest                   thing
lampa      lamp                        thing
fotu       picture/image               thing
vestu      coat                        thing
sako       bag/sack                    thing
kutelu     knife|knives                thing
pano       bread                       food
akva       water                       food
vinu       wine                        food
pomu       apple                       food
kafo       coffee                      food
vilu       village                     place
urba       city/town                   place
strata     street/road                 place
ponto      bridge                      place
placa      square                      place
korto      garden                      place
tempu      time                        idea
labora     work/job                    idea
historia   story|stories/tale          idea
nomu       name                        idea
problemu   problem/difficulty          idea
verita     truth                       idea
ideya      idea/thought                idea
donu       gift/present                thing
"""

VERBS = """
vid        see|saw|seen                    being   any
poss       have|had|had                    person  matter
trov       find|found|found                being   matter
am         love                            person  any
kerk       look_for/search_for             being   any
port       bring|brought|brought           person  matter
pren       take|took|taken                 person  matter
kompr      buy|bought|bought/purchase      person  matter
vend       sell|sold|sold                  person  matter
manj       eat|ate|eaten                   being   food
trink      drink|drank|drunk               person  food
leg        read|read|read                  person  idea
skrib      write|wrote|written             person  idea
aud        hear|heard|heard                being   being
kon        know|knew|known                 person  person
ajut       help                            person  person
salut      greet/welcome                   person  person
kroz       meet|met|met                    person  person
tem        fear                            being   being
perd       lose|lost|lost                  person  thing
perd       miss                            person  person
tir        pull/drag                       person  thing
tir        shoot|shot|shot                 person  animal
ten        hold|held|held                  person  thing
ten        keep|kept|kept                  person  animal
prov       test                            person  thing
prov       taste                           person  food
lev        lift/raise                      person  thing
lev        bring_up|brought_up|brought_up  person  person
pass       cross                           being   place
pass       forget|forgot|forgotten         person  idea
lav        wash/clean                      person  matter
apr        open                            person  thing
klud+fora  shut_out|shut_out|shut_out      person  being
met+sur    put_on|put_on|put_on            person  thing
jet+via    throw_away|threw_away|thrown_away person matter
port+ad    deliver                         person  matter
ferm       close/shut|shut|shut            person  thing
dorm       sleep|slept|slept               being   -
labor      work                            person  -
rid        laugh                           person  -
plor       cry/weep|wept|wept              person  -
kant       sing|sang|sung                  person  -
atend      wait                            being   -
mor        die                             being   -
arriv+in   arrive/come_in|came_in|come_in  being   -
stand+su   get_up|got_up|got_up/stand_up|stood_up|stood_up person -
ven        come|came|come                  being   >place
ir         go|went|gone                    being   >place
kur        run|ran|run                     being   >place
retur      return/go_back|went_back|gone_back person >place
don        give|gave|given                 person  matter>person
mostr      show|showed|shown               person  any>person
mand       send|sent|sent                  person  matter>person
kont       tell|told|told                  person  idea>person
dic        say|said|said                   person  clause
sav        know|knew|known                 person  clause
kred       believe/think|thought|thought   person  clause
sper       hope                            person  clause
not        notice                          person  clause
"""

ADJECTIVES = """
grando    big/large       being thing place
pikolo    small/little    being thing place food
bono      good            any
bello     beautiful/lovely being thing place
vetero    old             being thing place
yovo      young           being
novo      new             thing place idea
longo     long            thing idea
tristo    sad             person idea
felico    happy/glad      person
riko      rich/wealthy    person place
povro     poor            person
alto      tall            person
alto      high            place
gravo     heavy           thing
gravo     serious         idea person
duro      hard            thing
duro      strict          person
duro      tough           food
dolso     sweet           food
dolso     gentle/kind     person animal
klaro     clear           idea
klaro     bright          place
fresko    fresh           food
fresko    cool            place
forto     strong          being
forto     spicy           food
nigro     black           animal thing
blanko    white           animal thing
ruso      red             thing food
verdo     green           thing place
kurto     short           thing idea
falso     false/wrong     idea
fatigo    tired           being
strango   strange/odd     any
"""
