"""The word lists of the training text.

Names come half from these lists and half from syllables (`corpus.coined`): the lists make the text look like text, the
syllables make the number of names so large that a model cannot remember them and has to learn to copy.
"""

GIVEN_NAMES = """
    Ada Alan Alma Amir Anna Arun Astrid Ben Bianca Carl Chen Clara Dara David Diego Elif Emma Erik Fatima Felix Grace
    Hana Hugo Ines Ivan James Jana Jonas Julia Kofi Lars Leila Lena Liam Lucia Maria Marta Mira Nadia Nils Nina Noah
    Olga Omar Oskar Paula Pedro Priya Rosa Ruth Samir Sofia Sven Tara Thomas Tove Uma Vera Viktor Yara Yusuf Zoe
""".split()
SURNAMES = """
    Adams Andersen Bauer Becker Brown Chen Costa Diaz Dubois Evans Fischer Garcia Green Hansen Ito Ivanov Jensen Jones
    Keller Khan Klein Kumar Larsen Lopez Martin Meyer Mori Moreau Murphy Novak Okafor Olsen Park Patel Petrov Rossi
    Sato Schmidt Silva Singh Smith Tanaka Tolan Turing Vogel Wagner Walker Weber White Wilson Wood Young Zhang
""".split()
CITIES = """
    Athens Bergen Berlin Boston Cairo Chicago Delhi Dublin Geneva Hamburg Helsinki Istanbul Kyoto Lagos Lima Lisbon
    London Lyon Madrid Milan Munich Nairobi Oslo Oxford Paris Porto Prague Quito Rome Seoul Sydney Tokyo Toronto Turin
    Vienna Warsaw Zurich
""".split()
SYLLABLE_STARTS = """
    Al An Ar Bal Bar Bel Bo Bra Cal Cor Da Del Dor El En Fal Far Fen Gal Gar Gre Hal Har Hol In Is Jar Jo Kal Kar Kel
    Ko La Lin Lor Ma Mal Mar Mel Mo Nal Nor Ol Or Pal Per Pol Ra Ran Ro Sal San Sel Sor Ta Tal Tor Ul Va Val Vel Vin
    Wal Wen Wil Yor Zal Zan
""".split()
SYLLABLE_MIDDLES = "a e i o u an ar el en er il in ol on or ri ra di do la li lo ma mi na ni ro ta to va vi".split()
SYLLABLE_ENDINGS = """
    bert by den der din do don fel field gan gard ham ka kin land ley lin lo man mar mere mi mond na nen ner ra rad rin
    sen ser ska son stad ston tan ter ton va vale vik ville vin win
""".split()

JOBS = """
    actor architect baker biologist carpenter chemist cook dentist doctor driver editor electrician engineer farmer
    gardener judge lawyer librarian mechanic miner musician nurse painter photographer pilot plumber poet potter
    sailor singer tailor teacher translator waiter weaver writer
""".split()
THINGS = """
    apples bags bells blankets books boots bottles bowls boxes brushes candles chairs clocks coats cups desks drums
    forks gloves hats jackets jars kettles keys knives ladders lamps maps mirrors mugs notebooks paintings pans pencils
    pens pillows plates posters rings ropes rugs scarves shelves shirts shoes spoons stools tables tents towels
    umbrellas vases watches
""".split()
COLOURS = "black blue brown golden green grey orange pink purple red silver white yellow".split()
MATERIALS = "cotton glass leather linen metal paper plastic steel stone wooden woollen".split()
EVENT_KINDS = """
    Ball Concert Conference Dinner Exhibition Fair Festival Gala Lecture Market Marathon Meeting Opera Parade Party
    Picnic Race Reunion Seminar Show Summit Tournament Workshop
""".split()
EVENT_THEMES = """
    Art Autumn Book Chess Cheese Dance Film Flower Food Garden Harvest History Jazz Music Night Physics Poetry Science
    Spring Street Summer Theatre Winter Wine
""".split()
STREET_KINDS = "Alley Avenue Court Drive Hill Lane Place Road Row Square Street Way".split()
VENUE_KINDS = "Arena Castle Club Garden Hall Hotel House Library Museum Park School Theatre".split()
MONTHS = "January February March April May June July August September October November December".split()
NUMBER_WORDS = "one two three four five six seven eight nine ten eleven twelve".split()
CURRENCIES = "euros dollars pounds francs yen rupees crowns".split()

ANIMALS = "bear bird cat cow crow dog duck fox frog goat hare horse mouse owl seal sheep swan wolf".split()
SCENES = "bridge field forest garden harbour hill house lake market mountain river road station tower village".split()
VERBS = "found heard left liked lost painted passed remembered saw visited watched".split()
ADJECTIVES = "bright calm cold dark distant fresh gentle large loud narrow quiet small strange tall warm".split()
WEATHER = "cloudy cold cool dry foggy hot mild rainy snowy stormy sunny warm windy".split()
TIMES_OF_DAY = "morning noon evening night autumn spring summer winter".split()
MESSAGES = """
    the train is late|see you at noon|dinner is ready|the meeting is over|please call me back|happy birthday
    the keys are in the drawer|bring the umbrella|thanks for the book|the parcel has arrived|all is well here
    meet me at the bridge|the shop is closed today|good luck tomorrow|do not wait for me|the garden looks lovely
""".strip().replace("\n", "|").split("|")
MESSAGES = [message.strip() for message in MESSAGES]
