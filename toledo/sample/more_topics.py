"""More topics of the sample: forest, workshop, hospital and theatre. The tables read as in `everyday`."""

FOREST = (
    """
    kasadoro   hunter               person
    boskisto   woodcutter           person
    fatina     fairy                person
    vulpo      fox                  animal
    lupo       wolf|wolves          animal
    urso       bear                 animal
    cerva      deer|deer            animal
    sovu       owl                  animal
    arboru     tree                 thing
    folyu      leaf|leaves          thing
    ramo       branch               thing
    korona     treetop              thing
    petra      stone/rock           thing
    bayo       berry                food
    fungu      mushroom             food
    bosku      forest/wood          place
    fonta      spring               place
    rivo       river/stream         place
    kanto      edge                 place
    monto      mountain             place
    silenco    silence              idea
    pluva      rain                 idea
    """,
    """
    kas       hunt                   being   animal
    seg       follow                 being   being
    taj       fell                   person  thing
    rekoly    gather/pick            person  food
    kax       hide|hid|hidden        being   -
    vagar     wander                 being   -
    sort+ex   come_out|came_out|come_out being -
    """,
    """
    savayo    wild          animal
    oskuro    dark          place
    denso     thick/dense   place
    """,
)

WORKSHOP = (
    """
    smito      smith                person
    karpento   carpenter            person
    inginera   engineer             person
    aprendo    apprentice           person
    pilu       battery              thing
    rodu       wheel                thing
    martelo    hammer               thing
    fila       file                 thing
    pasta      paste                thing
    makina     machine/engine       thing
    forju      forge                place
    serra      saw                  thing
    klovo      nail                 thing
    vidra      glass                thing
    ferru      iron                 thing
    hunoso     hound                animal
    tea        tea                  food
    oficinu    workshop             place
    fabriko    factory              place
    planto     plan                 idea
    inventu    invention            idea
    prizo      prize/award          idea
    """,
    """
    konstru   build|built|built      person  thing
    repar     repair/fix             person  thing
    kolp      hit|hit|hit/strike|struck|struck person thing
    invent    invent                 person  thing
    mesur     measure                person  thing
    romp      break|broke|broken     person  thing
    akend+in  switch_on/turn_on      person  thing
    """,
    """
    rotundo   round           thing
    akuto     sharp           thing
    precizo   precise/exact   idea
    """,
)

HOSPITAL = (
    """
    mediko     doctor/physician     person
    nurso      nurse                person
    pacienta   patient              person
    kirurgo    surgeon              person
    dentista   dentist              person
    serpo      snake                animal
    pilu       pill                 thing
    kapo       head                 thing
    lingua     tongue               thing
    mano       hand                 thing
    braku      arm                  thing
    koro       heart                thing
    vendaju    bandage              thing
    bulonu     broth                food
    sala       ward                 place
    hospita    hospital             place
    farmacu    pharmacy             place
    operu      operation            idea
    febra      fever                idea
    dolo       pain/ache            idea
    malata     disease/illness      idea
    """,
    """
    kur       cure/heal               person  person
    egzam     examine                 person  any
    oper      operate_on              person  person
    tus       cough                   being   -
    visit     visit                   person  person
    presk     prescribe               person  thing>person
    vek+su    wake_up|woke_up|woken_up person person
    """,
    """
    malo      sick/ill        being
    sano      healthy         being food
    akuto     severe          idea
    """,
)

THEATRE = (
    """
    aktoro     actor                person
    kantina    singer               person
    musiko     musician             person
    dansista   dancer               person
    poeto      poet                 person
    leono      lion                 animal
    violu      violin               thing
    kordo      string               thing
    tamburo    drum                 thing
    maska      mask                 thing
    kortina    curtain              thing
    sukaru     sugar                food
    teatru     theatre              place
    kamera     studio               place
    sceno      stage                place
    kanto      song                 idea
    notu       note                 idea
    akto       act                  idea
    operu      opera                idea
    rolo       role/part            idea
    melodia    melody|melodies/tune idea
    """,
    """
    yog       play                    person  idea
    dans      dance                   person  -
    kompoz    compose                 person  idea
    aplaud    applaud                 person  person
    repet     rehearse/practise       person  idea
    admir     admire                  person  any
    met+fora  perform                 person  idea
    """,
    """
    famo      famous/well-known   person
    komiko    funny/comic         person idea
    sublo     wonderful           idea
    """,
)
