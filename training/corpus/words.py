"""The word lists of the training text.

Half of the names come from these lists and half from syllables (`Draw.coined`): the lists make the text look natural, the
syllables make so many names that a model cannot memorise them and has to learn to copy. The FOREIGN lists are names and
syllables of the hard split alone: no training text has them.
"""


def words(text: str) -> list[str]:
    return text.split()


def phrases(text: str) -> list[str]:
    return [phrase.strip() for phrase in text.split("|")]


GIVEN_NAMES = words("""
    Ada Alan Alma Amir Anna Arun Astrid Ben Bianca Carl Chen Clara Dara David Diego Elif Emma Erik Fatima Felix Grace
    Hana Hugo Ines Ivan James Jana Jonas Julia Kofi Lars Leila Lena Liam Lucia Maria Marta Mira Nadia Nils Nina Noah
    Olga Omar Oskar Paula Pedro Priya Rosa Ruth Samir Sofia Sven Tara Thomas Tove Uma Vera Viktor Yara Yusuf Zoe
""")
SURNAMES = words("""
    Adams Andersen Bauer Becker Brown Chen Costa Diaz Dubois Evans Fischer Garcia Green Hansen Ito Ivanov Jensen Jones
    Keller Khan Klein Kumar Larsen Lopez Martin Meyer Mori Moreau Murphy Novak Okafor Olsen Park Patel Petrov Rossi
    Sato Schmidt Silva Singh Smith Tanaka Tolan Turing Vogel Wagner Walker Weber White Wilson Wood Young Zhang
""")
CITIES = words("""
    Athens Bergen Berlin Boston Cairo Chicago Delhi Dublin Geneva Hamburg Helsinki Istanbul Kyoto Lagos Lima Lisbon
    London Lyon Madrid Milan Munich Nairobi Oslo Oxford Paris Porto Prague Quito Rome Seoul Sydney Tokyo Toronto Turin
    Vienna Warsaw Zurich
""")
SYLLABLE_STARTS = words("""
    Al An Ar Bal Bar Bel Bo Bra Cal Cor Da Del Dor El En Fal Far Fen Gal Gar Gre Hal Har Hol In Is Jar Jo Kal Kar Kel
    Ko La Lin Lor Ma Mal Mar Mel Mo Nal Nor Ol Or Pal Per Pol Ra Ran Ro Sal San Sel Sor Ta Tal Tor Ul Va Val Vel Vin
    Wal Wen Wil Yor Zal Zan
""")
SYLLABLE_MIDDLES = words("a e i o u an ar el en er il in ol on or ri ra di do la li lo ma mi na ni ro ta to va vi")
SYLLABLE_ENDINGS = words("""
    bert by den der din do don fel field gan gard ham ka kin land ley lin lo man mar mere mi mond na nen ner ra rad rin
    sen ser ska son stad ston tan ter ton va vale vik ville vin win
""")

FOREIGN_GIVEN_NAMES = words("""
    Aoife Bronwyn Caoimhe Dzmitry Eoghan Freyja Ghislain Hjalmar Itzel Jyrki Kwabena Llewellyn Mihaela Nguyen Oyelaran
    Przemek Quetzal Rhiannon Siobhan Thuy Ulrikke Vytautas Wojciech Xochitl Yngvild Zbigniew
""")
FOREIGN_SURNAMES = words("""
    Achterberg Bjarnason Czajka Dhillon Eyjolfsson Fitzhugh Goethals Hrvatin Iyengar Jurgaitis Kvaternik Lovelace Mbeki
    Nkrumah Oyarzabal Pfeiffer Quispe Rzepka Szymborska Tshabalala Uzoma Vukovic Wyspianski Xhosani Ybarra Zhukova
""")
FOREIGN_CITIES = words("""
    Aachen Bydgoszcz Cluj Dnipro Eindhoven Fribourg Gdynia Hvar Ioannina Jyvaskyla Kaunas Ljubljana Maastricht Nkongsamba
    Ouagadougou Plovdiv Queretaro Reykjavik Szczecin Tbilisi Uzhhorod Vladivostok Wroclaw Xiamen Yogyakarta Zagreb
""")
FOREIGN_STARTS = words(
    "Bryn Chu Dvo Gwen Hrod Jyv Kuz Llan Mwa Nyg Phuc Quill Rhos Szol Thwa Tzu Vuk Wyck Xan Yth Zbig Zhe"
)
FOREIGN_ENDINGS = words(
    "arthu bwe cyn dzki fjord gwyn heim htun iewic jord kova llyn mwe njo oglu pwn quist szcz thlo uyen vych wyth"
)

CONSONANTS = [*"bcdfghjklmnpqrstvwxz", "ch", "sh", "th", "br", "gr", "st", "nn", "rt", "lk", "mp"]

JOBS = words("""
    actor architect baker biologist carpenter chemist cook dentist doctor driver editor electrician engineer farmer
    gardener judge lawyer librarian mechanic miner musician nurse painter photographer pilot plumber poet potter
    sailor singer tailor teacher translator waiter weaver writer
""")
THINGS = words("""
    apples bags bells blankets books boots bottles bowls boxes brushes candles chairs clocks coats cups desks drums
    forks gloves hats jackets jars kettles keys knives ladders lamps maps mirrors mugs notebooks paintings pans pencils
    pens pillows plates posters rings ropes rugs scarves shelves shirts shoes spoons stools tables tents towels
    umbrellas vases watches
""")
COLOURS = words("black blue brown golden green grey orange pink purple red silver white yellow")
MATERIALS = words("cotton glass leather linen metal paper plastic steel stone wooden woollen")
EVENT_KINDS = words("""
    Ball Concert Conference Dinner Exhibition Fair Festival Gala Lecture Market Marathon Meeting Opera Parade Party
    Picnic Race Reunion Seminar Show Summit Tournament Workshop
""")
EVENT_THEMES = words("""
    Art Autumn Book Chess Cheese Dance Film Flower Food Garden Harvest History Jazz Music Night Physics Poetry Science
    Spring Street Summer Theatre Winter Wine
""")
STREET_KINDS = words("Alley Avenue Court Drive Hill Lane Place Road Row Square Street Way")
VENUE_KINDS = words("Arena Castle Club Garden Hall Hotel House Library Museum Park School Theatre")
MONTHS = words("January February March April May June July August September October November December")
NUMBER_WORDS = words("one two three four five six seven eight nine ten eleven twelve")
CURRENCIES = words("euros dollars pounds francs yen rupees crowns")

LANGUAGES = words(
    "Arabic Czech Danish Dutch English French German Greek Hindi Italian Japanese Polish Spanish Swedish Turkish"
)
MAIL_HOSTS = words("example.com example.org mail.net post.org inbox.net letters.com")
UNITS = {
    "weight": words("g kg tons"),
    "length": words("mm cm m km"),
    "volume": words("ml litres"),
}

ANIMALS = words("bear bird cat cow crow dog duck fox frog goat hare horse mouse owl seal sheep swan wolf")
SCENES = words("bridge field forest garden harbour hill house lake market mountain river road station tower village")
VERBS = words("found heard left liked lost painted passed remembered saw visited watched")
ADJECTIVES = words("bright calm cold dark distant fresh gentle large loud narrow quiet small strange tall warm")
WEATHER = words("cloudy cold cool dry foggy hot mild rainy snowy stormy sunny warm windy")
TIMES_OF_DAY = words("morning noon evening night autumn spring summer winter")
MESSAGES = phrases(
    """
    the train is late|see you at noon|dinner is ready|the meeting is over|please call me back|happy birthday|
    the keys are in the drawer|bring the umbrella|thanks for the book|the parcel has arrived|all is well here|
    meet me at the bridge|the shop is closed today|good luck tomorrow|do not wait for me|the garden looks lovely
    """
)
