#include "train/lexicon.hpp"

#include <algorithm>
#include <utility>

namespace attn::sentences {

namespace {

// Animals and the like, then vehicles, places, loads and containers, and people. The deeds name no noun that
// could compete with theirs in a frame.
constexpr Noun all_nouns[] = {
    {"animal", walker | carrier,
     "lay down on the ground|licked its sore feet|crept back to its den|slept until morning"},
    {"cat", walker | hunter,
     "purred by the fire|licked its soft paws|lapped up some milk|curled up on a cushion"},
    {"dog", walker | carrier | hunter,
     "barked at the moon|wagged its tail|chewed an old bone|growled at the door"},
    {"fox", walker | hunter,
     "swung its bushy tail|thought of a new trick|sniffed the evening air|grinned like a rogue"},
    {"wolf", walker | hunter,
     "howled in the night|showed its sharp teeth|ran back to the pack|stared with yellow eyes"},
    {"bear", walker | carrier | hunter,
     "went to look for honey|scratched its brown fur|slept all winter|danced on its hind legs"},
    {"lion", walker | hunter, "roared like thunder|shook its golden mane|stretched out in the sun"},
    {"horse", walker | carrier,
     "neighed and stamped|tossed its head|galloped home to the stable|ate a little hay"},
    {"donkey", walker | carrier,
     "brayed loudly|pricked up its long ears|kicked with both legs|ate a thistle"},
    {"ox", walker | carrier, "pulled at its yoke|lowered its great horns|bent its broad neck"},
    {"cow", walker, "mooed for its calf|gave fresh milk that evening|chewed the cud"},
    {"goat", walker | carrier | prey, "bleated and shook its beard|nibbled at a bush|butted with its horns"},
    {"sheep", walker | prey, "stood there in its thick wool|cropped the short grass|went back to the flock"},
    {"pig", walker | prey, "grunted and rolled in the mud|dug for roots|trotted back to its sty"},
    {"deer", walker | prey, "leapt away between the trees|raised its antlers|grazed in the clearing"},
    {"rabbit", walker | prey, "hopped back to its burrow|twitched its nose|gnawed a carrot"},
    {"mouse", walker | prey, "squeaked in a corner|nibbled some crumbs|slipped into a hole in the floor"},
    {"hen", walker | prey, "laid a brown egg|clucked all afternoon|scratched for corn|called its chicks"},
    {"goose", walker | prey, "hissed and flapped its wings|lost a white feather|stretched its long neck"},
    {"duck", walker | prey, "quacked in the rain|waddled home|dipped its beak into the water"},
    {"frog", walker | prey, "croaked among the reeds|caught a fly with its tongue|sprang onto a lily leaf"},
    {"turtle", walker, "drew its head into its shell|crawled on as slowly as ever|snapped at a worm"},
    {"child", walker | carrier,
     "cried for its mother|laughed and clapped its hands|sang a little song|played with its toys"},
    {"troll", walker | carrier, "turned to stone at sunrise|stamped its hairy foot|went home to its cave"},
    {"dragon", walker | hunter, "spat fire and smoke|spread its scaly wings|guarded its gold again"},

    {"cart", vehicle, "creaked and lost a wheel|stood there with its straw|tipped into the ditch"},
    {"wagon", vehicle, "rattled back to the farm|carried hay and oats|broke its axle"},
    {"coach", vehicle,
     "shone with gold paint|rolled away with the lords and ladies|brought the guests to the palace"},
    {"sledge", vehicle, "slid over the snow|glided home on its runners|jingled with silver bells"},

    {"street", road,
     "ran on to the hills|led down to the market|swarmed with people and shops|curved around the town hall"},
    {"road", road, "wound away into the distance|went on for seven miles|gleamed white with dust"},
    {"bridge", road, "hung high above the water|rested on three arches|swayed in the wind"},
    {"square", road,
     "lay there with its fountain|echoed with pigeons and church bells|filled up on market day"},
    {"field", land, "bore nothing but barley|smelled of fresh earth|waited for the plough"},
    {"meadow", land, "hummed with bees|gave good hay in June|bloomed with clover and daisies"},
    {"forest", land, "whispered with oaks and firs|rang with the cry of owls|grew thicker with every step"},
    {"valley", land, "lay between two cliffs|filled with mist|opened towards the south"},
    {"desert", land, "burned under the sun|offered no trees and no shade|consisted of sand and sand alone"},
    {"river", water, "flowed on to the sea|turned seven mills|rose higher every hour"},
    {"stream", water, "bubbled over the pebbles|sprang from a rock|hurried down to join another"},
    {"lake", water, "lay as smooth as glass|mirrored the clouds|froze every winter"},
    {"swamp", water, "stank of rotten reeds|swallowed whatever fell in|steamed in the heat"},
    {"wall", barrier, "threw a long shadow|surrounded the orchard with grey bricks|crumbled under the ivy"},
    {"fence", barrier, "consisted of wooden posts|needed a coat of paint|missed a few boards"},
    {"hedge", barrier, "pricked with a thousand thorns|bloomed with wild roses|rustled with sparrows"},
    {"gate", barrier, "swung on rusty hinges|bore the arms of a duke|shut with a key every sunset"},
    {"hill", slope, "rose behind the village|carried a ruin on its top|sloped down to the vineyards"},
    {"mountain", slope, "wore a cap of snow|hid its top in the clouds|sent down stones and ice"},
    {"cliff", slope, "dropped straight into the sea|gleamed as white as chalk|sheltered the nests of gulls"},
    {"ladder", slope, "leaned against a roof|counted twelve rungs|belonged to a chimney sweep"},

    {"stone", load, "sank deep into the earth|wore a coat of moss|weighed as much as ten men"},
    {"log", load, "smelled of pine|became planks at the sawmill|floated down with the flood"},
    {"barrel", load, "leaked from its side|held a year of cider|lay on its iron hoops"},
    {"sack", load, "burst and spilled its flour|opened when the string broke|itched with coarse linen"},
    {"table", load, "stood on four carved legs|groaned under the supper|seated twelve guests"},
    {"bell", load | thing, "rang over the roofs|tolled at noon|sounded of pure bronze"},
    {"pumpkin", load | thing, "grew on a vine|went into the soup|ripened until October"},
    {"cheese", load | thing, "came from the dairy|showed its yellow holes|tasted of salt"},
    {"box", load | container, "arrived by post|hid under a painted lid|held a set of tin soldiers"},
    {"basket", load | container,
     "swung from its round handle|creaked with all its willow twigs|brimmed with cherries"},
    {"chest", load | container, "held the treasure of a pirate|opened with a rusty lock|kept its iron bands"},
    {"trophy", thing,
     "went to the winner of the races|stood beside the other prizes|honoured the best rider"},
    {"ball", thing, "bounced away|rolled under the bed|flew over the roof"},
    {"doll", thing, "looked up with glass eyes|wore a silk dress|answered to the name of Rosa"},
    {"crown", thing, "sparkled with rubies|belonged on a royal head|pressed on the ears"},
    {"lamp", thing, "burned with a blue flame|needed more oil|lit up the whole room"},
    {"clock", thing, "ticked on|struck twelve|lost five minutes a day"},
    {"drum", thing, "boomed like a cannon|called the village to the feast|sounded hollow"},
    {"mirror", thing, "showed every face|cracked from side to side|reflected the candles"},
    {"book", thing, "told of old heroes|counted a hundred pages|began with a poem in Latin"},
    {"cake", thing, "tasted of sugar and plums|crumbled at tea|fed nine cousins"},
    {"suitcase", container, "snapped shut|travelled to the seaside|bulged with shirts"},
    {"drawer", container, "stuck as always|jingled with spoons and forks|slid open with a jerk"},
    {"cupboard", container, "smelled of spices|hung in the kitchen|sheltered the jam"},
    {"bag", container, "dangled from a strap|tore along the seam|squeaked with new leather"},
    {"pot", container, "boiled over|simmered on the stove|broke like any clay"},

    {"king", man, "sat down on his throne|ruled for many years|sent for his ministers"},
    {"soldier", man, "cleaned his musket|marched back to the barracks|told of the war"},
    {"miller", man, "ground the corn|shook the flour from his apron|went to see to his wheel"},
    {"huntsman", man, "loaded his gun|blew his horn|whistled for his hounds"},
    {"tailor", man, "threaded his needle|sewed on a button|cut a coat from green cloth"},
    {"baker", man, "kneaded his dough|sold his rolls|heated the oven"},
    {"smith", man, "struck the anvil with his hammer|blew up the fire in the forge|mended a horseshoe"},
    {"fisherman", man, "mended his nets|rowed out to sea|caught a herring"},
    {"farmer", man, "drove his plough|fed the cattle|brought in the harvest"},
    {"thief", man, "climbed out of the window|hid the stolen money|was put in prison"},
    {"prince", man, "drew his sword|inherited the kingdom|sought a bride"},
    {"queen", woman, "sat among her ladies|wore a velvet gown|gave a feast at the palace"},
    {"witch", woman, "stirred her cauldron|flew off on her broom|muttered a spell"},
    {"princess", woman, "combed her golden hair|danced in her slippers|lost a glass shoe"},
    {"maid", woman, "swept the kitchen|carried up the breakfast|washed the dishes"},
    {"grandmother", woman, "knitted a stocking|put on her spectacles|dozed in her armchair"},
    {"fairy", woman, "waved her wand|granted three wishes|vanished in a cloud of light"},
    {"nurse", woman, "rocked the cradle|warmed the milk|bandaged a wound"},
    {"weaver", woman, "sat down at her loom|wound up the yarn|wove a carpet"},
};

constexpr Choices weary = "tired|weak|hungry|lazy|sleepy|frightened|sick|timid";
constexpr Choices crossing =
    "the {a} didn't cross the {b}|the {a} could not cross the {b}|at the {b} the {a} turned back|"
    "at the edge of the {b} the {a} stopped";
constexpr Choices climbing =
    "the {a} didn't climb the {b}|the {a} could not get up the {b}|at the foot of the {b} the {a} turned "
    "back|"
    "below the {b} the {a} stopped";
constexpr Choices lifting =
    "the {a} couldn't lift the {b}|the {a} could not carry the {b}|the {b} couldn't be lifted by the {a}|"
    "the {b} could not be carried by the {a}";
constexpr Choices catching =
    "the {a} couldn't catch the {b}|the {a} never caught the {b}|the {b} got away from the {a}|"
    "the {b} was never caught by the {a}";
constexpr Choices slow = "slow|lazy|fat|clumsy|sleepy|lame|tired|old",
                  quick = "quick|fast|clever|nimble|swift|careful";

constexpr Frame all_frames[] = {
    {walker, road, crossing, "too|so", weary, "wide|long|dark|icy|slippery|muddy"},
    {walker, land, crossing, "too|so", weary, "wide|broad|dangerous|rough|long"},
    {walker, water, crossing, "too|so", weary, "wide|deep|icy|dangerous|muddy"},
    {walker, barrier,
     "the {a} didn't jump over the {b}|the {a} could not get over the {b}|at the {b} the {a} turned back|"
     "in front of the {b} the {a} stopped",
     "too|so", weary, "high|tall|wide|thick|dangerous"},
    {walker, slope, climbing, "too|so", weary, "steep|high|slippery|dangerous|tall"},
    {vehicle, road, crossing, "too|so", "heavy|slow|clumsy|rusty|broad", "narrow|rough|muddy|slippery|icy"},
    {carrier, load,
     "the {a} couldn't carry the {b}|the {a} could not move the {b}|the {b} couldn't be carried by the {a}|"
     "under the {b} the {a} fell down",
     "too|so", "weak|small|tired|young|lazy|sick|hungry|sleepy", "heavy|big|large|huge|wide"},
    {thing, container,
     "the {a} didn't fit into the {b}|the {a} would not go into the {b}|the {b} couldn't hold the {a}|"
     "in the {b} there was no room for the {a}",
     "too", "big|large|wide|tall|huge", "small|narrow|tight|full|little|short"},
    {hunter, prey, catching, "too|so", slow, quick},
    {prey, hunter,
     "the {a} ran away from the {b}|the {a} hid from the {b}|from the {b} the {a} ran away|"
     "before the {b} the {a} trembled",
     "so|too", "weak|small|timid|young|tired|frightened", "strong|fierce|cruel|wild|hungry|greedy"},
    {hunter, prey,
     "the {a} followed the {b}|the {a} crept after the {b}|the {b} was followed by the {a}|"
     "behind the {b} came the {a}",
     "so|very", "hungry|greedy|cruel|clever|fierce", "fat|young|weak|lame|small"},
    {man, man, lifting, "too|so", "weak|tired|old|thin|small|lazy", "heavy|fat|tall|big"},
    {woman, woman, lifting, "too|so", "weak|tired|old|thin|small|lazy", "heavy|fat|tall|big"},
    {man, man, catching, "too|so", slow, quick},
    {woman, woman, catching, "too|so", slow, quick},
};

constexpr std::pair<std::string_view, std::string_view> tutorial_pairs[] = {
    {"animal", "street"}, {"cat", "street"}, {"cat", "binoculars"}, {"key", "cabinet"}, {"dog", "house"}};

// FNV-1a, 64 bits.
std::uint64_t hash_of(std::string_view word) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : word) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

}  // namespace

int count(Choices choices) { return 1 + static_cast<int>(std::ranges::count(choices, '|')); }

std::string_view nth(Choices choices, int i) {
    for (; i > 0; --i) choices.remove_prefix(choices.find('|') + 1);
    return choices.substr(0, choices.find('|'));
}

int pick(int count, Random& random) { return static_cast<int>(random.uniform() * count); }

std::string_view pick(Choices choices, Random& random) { return nth(choices, pick(count(choices), random)); }

std::span<const Noun> nouns() { return all_nouns; }
std::span<const Frame> frames() { return all_frames; }

bool held_out(std::string_view one, std::string_view other) {
    for (const auto& [x, y] : tutorial_pairs)
        if ((one == x && other == y) || (one == y && other == x)) return true;
    return Random(hash_of(one) ^ hash_of(other)).bits() % 10 == 0;
}

}  // namespace attn::sentences
