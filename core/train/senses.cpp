// Words with two senses: the context before and after shows which one is meant.
#include "train/lexicon.hpp"
#include "train/paragraphs.hpp"

namespace attn::sentences {

namespace {

// {w} is a person, {h} that person's pronoun, {s} the possessive.
struct Sense {
    Choices before, after;
};

constexpr Sense senses[] = {
    // bank
    {"{w} tied the boat to the bank|{w} sat on the grassy bank and fished|{w} swam to the other bank",
     "frogs jumped from the bank into the water|reeds grew along the bank|the bank was steep and wet there"},
    {"{w} took {s} savings to the bank|{w} asked the bank for a loan|{w} kept {s} gold in the bank|{w} owed "
     "the bank much money",
     "the bank paid out the money at once|the bank lent {s} neighbour a thousand crowns|the bank wanted the "
     "loan back|the bank granted the loan"},
    // bat
    {"{w} saw a bat fly out of the cave|at dusk {w} heard a bat under the roof",
     "the bat hung upside down from a beam|the bat caught moths in the dark|the bat spread its thin wings"},
    {"{w} hit the ball with a bat|{w} carved a bat from a piece of ash",
     "the bat broke in two at the third stroke|the bat lay well in the hand|with that bat {h} won the game"},
    // ring
    {"{w} wore a ring of gold|{w} lost a ring at the wedding|{w} put the ring on {s} finger",
     "the ring had a blue jewel|the ring was too tight for {s} thumb|a goldsmith had made the ring"},
    {"{w} heard the bells ring|{w} let the bells ring for an hour|in the tower {w} made the bells ring",
     "when they ring, the doves fly up|they ring for weddings and for fires|one could hear them ring in "
     "every house"},
    // bark
    {"{w} heard the hound bark|at night {w} heard something bark in the yard",
     "only a big hound could bark like that|the bark woke the whole house|after one more bark it was still"},
    {"{w} cut {s} name into the bark of a birch|{w} peeled the bark from a twig|{w} boiled the bark of a "
     "willow",
     "the bark was rough and grey|under the bark there were beetles|the bark of the old trees is the "
     "thickest"},
    // light
    {"{w} saw a light in the window|{w} walked towards the light|{w} put out the light",
     "the light came from a candle|the light grew pale at dawn|without the light {h} saw nothing"},
    {"{w} found the feather light|{w} carried a light bundle|{w} wore a light cloak",
     "it was so light that {h} forgot it|a light load is soon forgotten|even so, light things grow heavy on "
     "a long walk"},
    // spring
    {"in spring {w} planted the garden|{w} waited for spring to come|in spring {w} went back to the "
     "mountains",
     "in spring the snow melts|that spring the swallows came early|spring is followed by summer"},
    {"{w} drank from a spring|{w} found a spring among the rocks|{w} filled the jug at the spring",
     "the water of the spring was clear and cold|the spring never ran dry|moss grew around the spring"},
    // trunk
    {"{w} watched the elephant lift its trunk|the elephant took an apple from {w} with its trunk",
     "with its trunk it can drink and blow a trumpet|its trunk is as strong as ten arms|the trunk curled "
     "around a nut"},
    {"{w} packed a trunk for the voyage|{w} locked the trunk and sat on it",
     "in the trunk lay shirts and stockings|the trunk was sent on by ship|the key of the trunk was lost"},
    // match
    {"{w} struck a match|{w} lit the candle with a match",
     "the match flared and went out|the match burned {s} finger|it was the last match in the packet"},
    {"{w} won the match|{w} lost the match by one point|{w} played a match against the champion",
     "after the match they shook hands|the match lasted until evening|the crowd cheered at the end of the "
     "match"},
    // nail
    {"{w} drove a nail into the beam|{w} hung {s} hat on a nail",
     "the nail was bent|the nail had rusted|a hammer and a nail were all it took"},
    {"{w} broke a nail on {s} left hand|{w} bit the nail of {s} thumb",
     "it takes weeks for a nail to grow back|the finger hurt under the nail|a nail is soon cut"},
    // fair
    {"{w} sold a calf at the fair|{w} rode to the fair in town",
     "there were tents and music at the fair|the fair was held twice a year|all the village went to the "
     "fair"},
    {"{w} divided the bread, and that was fair|{w} was always fair to the servants",
     "a fair judge hears both sides|nobody could call it less than fair|whoever is fair has many friends"},
};

}  // namespace

std::string sense_paragraph(Random& random) {
    const Sense& sense = pick(std::span<const Sense>(senses), random);
    const bool he = pick(2, random) == 0;
    const std::string_view who =
        he ? pick("the boy|the old man|the sailor|the merchant|the carpenter|the uncle", random)
           : pick("the girl|the old woman|the aunt|the widow|the duchess|the cook", random);
    const std::string before(pick(sense.before, random)), after(pick(sense.after, random));
    return fill(before + ". " + after + ".",
                {{'w', who}, {'h', he ? "he" : "she"}, {'s', he ? "his" : "her"}});
}

}  // namespace attn::sentences
