"""Topics of the sample: country and sea, market and school, kitchen and castle. The tables read as in `everyday`.

A Talvan noun that stands in two topics differs in meaning: `banko` is a bank on the market, a bench at school.
"""

FARM = (
    """
    campesino  farmer/peasant       person
    pastora    shepherdess          person
    kavalo     horse                animal
    vako       cow                  animal
    ovelu      sheep|sheep          animal
    kaporo     goat                 animal
    galina     hen                  animal
    aratru     plough               thing
    karru      cart/wagon           thing
    planto     plant                thing
    korona     wreath               thing
    barila     barrel               thing
    latu       milk                 food
    ovu        egg                  food
    grano      corn/grain           food
    kampu      field                place
    stalo      stable/barn          place
    prata      meadow               place
    molinu     mill                 place
    sezu       season               idea
    rekolta    harvest              idea
    """,
    """
    sem       sow|sowed|sown          person  food
    nutr      feed|fed|fed            person  animal
    melk      milk                    person  animal
    ar        plough                  person  place
    rekolt    harvest                 person  food
    paz       graze                   animal  -
    mont+sur  mount/get_on|got_on|got_on person animal
    """,
    """
    maturo    ripe       food
    fertilo   fertile    place
    grasso    fat        animal
    """,
)

SEA = (
    """
    marino     sailor               person
    kapo       captain              person
    peskisto   fisherman|fishermen  person
    pirata     pirate               person
    pesko      fish|fish            animal
    delfina    dolphin              animal
    moevo      seagull              animal
    bato       boat                 thing
    navu       ship/vessel          thing
    velo       sail                 thing
    kordo      rope                 thing
    karto      map/chart            thing
    reta       net                  thing
    ankora     anchor               thing
    sala       salt                 food
    portu      harbour/port         place
    insula     island               place
    playa      beach/shore          place
    punto      cape                 place
    tempestu   storm/tempest        idea
    viaju      journey/voyage       idea
    """,
    """
    nav        sail                  person  >place
    pesk       catch|caught|caught   person  animal
    naj        swim|swam|swum        being   -
    repar      repair/mend           person  thing
    ekspor     explore               person  place
    sink       sink|sank|sunk        person  thing
    jet+ex     cast_out|cast_out|cast_out person thing
    """,
    """
    profundo  deep     place
    saloso    salty    food
    bravo     brave    person
    """,
)

MARKET = (
    """
    merkanto   merchant/trader      person
    klienta    customer             person
    ladro      thief|thieves        person
    vendista   saleswoman|saleswomen person
    asenu      donkey               animal
    moneta     coin                 thing
    karto      ticket               thing
    notu       bill                 thing
    peseta     parcel/package       thing
    kesto      basket               thing
    banda      ribbon               thing
    fruktu     fruit                food
    kaso       cheese               food
    miela      honey                food
    merkatu    market               place
    banko      bank                 place
    bokala     shop/store           place
    precu      price                idea
    akto       contract             idea
    debita     debt                 idea
    gaynu      profit/gain          idea
    """,
    """
    pag       pay|paid|paid           person  idea
    kalkul    reckon/calculate        person  idea
    rob       steal|stole|stolen      person  matter
    pes       weigh                   person  matter
    komerc    trade                   person  -
    prest     lend|lent|lent          person  thing>person
    kont+sub  sign_off                person  idea
    """,
    """
    karo      expensive/dear   matter
    vilo      cheap            matter
    honesto   honest           person
    """,
)

SCHOOL = (
    """
    maestro    teacher              person
    eleva      pupil                person
    studanto   student              person
    direktora  headmistress         person
    sago       scholar              person
    hamstero   hamster              animal
    banko      bench                thing
    folyu      page                 thing
    tabla      blackboard           thing
    plumo      pen                  thing
    kredo      chalk                thing
    fila       row                  thing
    biskitu    biscuit/cookie       food
    skola      school               place
    klasu      classroom            place
    biblota    library              place
    lingua     language             idea
    notu       mark/grade           idea
    sezu       term                 idea
    punto      point                idea
    fonta      source               idea
    eksamenu   exam/examination     idea
    """,
    """
    aprend    learn                     person  idea
    ensen     teach|taught|taught       person  idea>person
    eksplik   explain                   person  idea
    kopi      copy                      person  idea
    stud      study                     person  -
    korekt    correct                   person  idea
    pens+per  think_over|thought_over|thought_over person idea
    """,
    """
    difisilo  difficult/hard    idea
    fasilo    easy/simple       idea
    saviro    clever/smart      person
    """,
)

KITCHEN = (
    """
    kokino     cook                 person
    bakista    baker                person
    servo      waiter               person
    servina    maid                 person
    porku      pig                  animal
    anaso      duck                 animal
    tabla      board                thing
    kupa       cup                  thing
    forju      oven                 thing
    pota       pot                  thing
    kulero     spoon                thing
    platu      plate/dish           thing
    supa       soup                 food
    karnu      meat                 food
    pasta      dough                food
    torto      cake                 food
    butiru     butter               food
    legumo     vegetable            food
    kuzina     kitchen              place
    gastola    inn/tavern           place
    recepta    recipe               idea
    gustu      taste                idea
    """,
    """
    kuz       cook/prepare          person  food
    bak       bake                  person  food
    taly      cut|cut|cut           person  food
    serv      serve                 person  food>person
    brul      burn                  person  food
    mix       mix/stir              person  food
    vers+ex   pour_out              person  food
    """,
    """
    saporo    tasty/delicious   food
    kaldo     hot/warm          food
    frido     cold              food place
    """,
)

CASTLE = (
    """
    reyo       king                 person
    reyna      queen                person
    kavayo     knight               person
    princo     prince               person
    kapo       chief/leader         person
    soldado    soldier              person
    gardista   guard                person
    dragono    dragon               animal
    falka      falcon               animal
    espada     sword                thing
    korona     crown                thing
    skutu      shield               thing
    banera     flag/banner          thing
    kupa       dome                 thing
    torru      tower                thing
    festinu    feast                food
    kastelu    castle               place
    kamera     chamber              place
    sala       hall                 place
    muro       wall                 place
    guera      war                  idea
    legu       law                  idea
    glora      glory/fame           idea
    """,
    """
    defend    defend/protect          person  place
    atak      attack                  person  any
    reg       rule/govern             person  place
    lut       fight|fought|fought     person  -
    vink      defeat/beat|beat|beaten person  person
    jur       swear|swore|sworn       person  clause
    pris+in   lock_up                 person  person
    """,
    """
    nobilo    noble           person
    fidelo    faithful/loyal  being
    kruelo    cruel           person
    """,
)
