#!/usr/bin/env python3
"""Writes experiments/data/texts: small sets of text for fine-tuning, composed from phrases that were written for this project. What an answer claims is
computed, so it is right. The result is the same bytes every time.

usage: experiments/data/make_texts.py
"""
import csv
import json
import pathlib
import random

FOLDER = pathlib.Path(__file__).resolve().parent / "texts"
NAMES = ["Ada", "Bilal", "Chloé", "Dmitri", "Emeka", "Farah", "Goran", "Hana", "Ines", "Jonas", "Katya", "Luca", "Mei", "Noor", "Oskar", "Priya",
         "Quentin", "Rosa", "Sven", "Tariq", "Uma", "Viktor", "Wanda", "Yusuf", "Zoë"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
PLACES = ["the library", "the harbour", "the old bakery", "the tram stop", "the science museum", "the garden centre", "the swimming pool",
          "the market hall", "the bus station", "the town hall", "the cinema", "the climbing gym"]
ANIMALS = ["otter", "heron", "badger", "lynx", "tortoise", "falcon", "salmon", "hedgehog", "beaver", "swan", "ibex", "mole"]
FRUITS = ["apples", "plums", "quinces", "cherries", "figs", "pears", "lemons", "grapes", "apricots", "melons"]
TOOLS = ["hammer", "saw", "chisel", "plane", "drill", "clamp", "file", "spanner"]
CITIES = {"Lisbon": "Portugal", "Oslo": "Norway", "Nairobi": "Kenya", "Hanoi": "Vietnam", "Lima": "Peru", "Ottawa": "Canada", "Cairo": "Egypt",
          "Vienna": "Austria", "Seoul": "South Korea", "Canberra": "Australia", "Rabat": "Morocco", "Warsaw": "Poland", "Quito": "Ecuador",
          "Tallinn": "Estonia", "Amman": "Jordan", "Helsinki": "Finland"}
PLURALS = {"box": "boxes", "leaf": "leaves", "city": "cities", "child": "children", "mouse": "mice", "knife": "knives", "hero": "heroes",
           "tooth": "teeth", "bus": "buses", "story": "stories", "wolf": "wolves", "photo": "photos"}
PAST = {"go": "went", "write": "wrote", "catch": "caught", "swim": "swam", "bring": "brought", "teach": "taught", "fly": "flew", "choose": "chose",
        "drive": "drove", "find": "found", "sing": "sang", "keep": "kept"}
OPPOSITES = {"hot": "cold", "early": "late", "heavy": "light", "narrow": "wide", "ancient": "modern", "generous": "stingy", "noisy": "quiet",
             "shallow": "deep", "rough": "smooth", "brave": "cowardly"}
HOW_TO = [
    ("sharpen a kitchen knife", ["soak the whetstone for ten minutes", "hold the blade at about fifteen degrees", "draw it across the stone in even strokes, both sides alike",
                                 "finish on the fine side and rinse the blade"]),
    ("repot a house plant", ["choose a pot two fingers wider than the old one", "loosen the roots and shake off the old soil", "set the plant at its former height in fresh soil",
                             "water it well and keep it out of the sun for a week"]),
    ("mend a flat bicycle tyre", ["take the wheel off and pull the tube out", "find the hole by pumping the tube up and listening", "roughen the spot, glue on a patch and press it down",
                                  "check the tyre for glass before putting all back together"]),
    ("make a pot of green tea", ["boil water and let it cool for three minutes", "use a teaspoon of leaves for each cup", "let it draw for two minutes", "pour it through a strainer"]),
    ("prepare for a job interview", ["read about the company and the post", "think of three things you did well, with results", "prepare two questions of your own",
                                     "plan the way there so that you arrive ten minutes early"]),
    ("learn a poem by heart", ["read it aloud twice", "learn two lines at a time and cover them", "say all lines so far after each new pair", "repeat it the next morning"]),
    ("dry mushrooms", ["brush them clean without water", "cut them into thin slices", "spread them out so that none touch", "dry them at fifty degrees until they snap"]),
    ("back up a laptop", ["list the folders that you cannot replace", "copy them to an external disk", "keep a second copy in another place", "try to open a few files of the copy"]),
]
FACTS = [
    ("Why does ice float on water?", "Water expands when it freezes, so ice is less dense than the water around it and floats with about a tenth of it above the surface."),
    ("Why do we see lightning before we hear thunder?", "Light reaches us almost at once, while sound needs about three seconds for each kilometre, so thunder arrives later."),
    ("What does a compiler do?", "A compiler translates a program that people wrote into instructions that a machine can run, and reports mistakes that it finds on the way."),
    ("Why is bread dough left to rise?", "Yeast eats sugars in the flour and gives off gas; the bubbles stretch the dough, which makes the bread light."),
    ("What causes the tides?", "Mostly the Moon's gravity, which pulls more strongly on the near side of the Earth than on the far side; the Sun adds a smaller part."),
    ("Why do leaves turn yellow in autumn?", "Trees take the green chlorophyll back out of their leaves, and the yellow pigments that were there all along become visible."),
    ("What is a median?", "The middle value of a sorted list. Unlike the mean it hardly changes when a single value is far too large."),
    ("Why does a bicycle stay upright while it moves?", "Steering moves the wheels back under the rider: when the bicycle leans it turns the same way, which straightens it again."),
    ("What is compost?", "Plant waste that fungi, bacteria and worms have broken down into dark crumbs full of nutrients for the soil."),
    ("Why are there leap years?", "The Earth needs about 365 and a quarter days for a turn around the Sun; an extra day in most fourth years keeps the calendar in step."),
    ("What does a router do?", "It passes packets of data between networks and picks the next stop for each, a little like a sorting office for letters."),
    ("Why does metal feel colder than wood?", "Both have the room's temperature, but metal conducts heat away from the hand much faster, and that is what the skin notices."),
]


def instruct(draw):
    """Columns instruction, input, output, as Alpaca has them."""
    def add():
        numbers = [draw.randint(3, 99) for _ in range(draw.randint(3, 6))]
        return "Add up the numbers and show the steps.", ", ".join(map(str, numbers)), f"{' + '.join(map(str, numbers))} = {sum(numbers)}. The sum is {sum(numbers)}."

    def order():
        words = draw.sample(ANIMALS + TOOLS, draw.randint(4, 7))
        return "Sort these words by the alphabet.", ", ".join(words), ", ".join(sorted(words)) + "."

    def capital():
        city = draw.choice(list(CITIES))
        other = draw.choice([name for name in CITIES if name != city])
        return f"Which country is {city} the capital of, and which is {other} of?", "", f"{city} is the capital of {CITIES[city]}, and {other} is the capital of {CITIES[other]}."

    def plural():
        words = draw.sample(list(PLURALS), 4)
        return "Give the plural of each noun.", "\n".join(words), "\n".join(f"{word}: {PLURALS[word]}" for word in words)

    def past():
        words = draw.sample(list(PAST), 3)
        name = draw.choice(NAMES)
        return f"Write the past tense of the verbs {', '.join(words)}, and a sentence with the first one.", "", \
            f"{', '.join(PAST[word] for word in words)}. Sentence: Yesterday {name} {PAST[words[0]]} " \
            + {"go": "home early", "write": "two long letters", "catch": "the last tram", "swim": "across the lake", "bring": "a cake to work", "teach": "a class of thirty",
               "fly": "to Lima", "choose": "the blue one", "drive": "all night", "find": "an old coin", "sing": "in the choir", "keep": "the receipt"}[words[0]] + "."

    def how():
        task, steps = draw.choice(HOW_TO)
        return f"Explain in {len(steps)} steps how to {task}.", "", "\n".join(f"{i}. {step[0].upper()}{step[1:]}." for i, step in enumerate(steps, 1))

    def fact():
        question, answer = draw.choice(FACTS)
        return draw.choice([question, f"Answer for a curious child: {question}", f"Answer in one or two sentences. {question}"]), "", answer

    def odd():
        kind, others, name = draw.choice([(ANIMALS, FRUITS, "animal"), (FRUITS, TOOLS, "fruit"), (TOOLS, ANIMALS, "tool")])
        words = draw.sample(kind, 4) + [draw.choice(others)]
        wrong = words[-1]
        draw.shuffle(words)
        return "Which word does not belong to the others, and why?", ", ".join(words), f"\"{wrong}\": each of the other words names a {name}." \
            if name != "animal" else f"\"{wrong}\": each of the other words names an {name}."

    def convert():
        minutes = draw.randint(70, 600)
        return f"How many hours and minutes are {minutes} minutes?", "", f"{minutes} minutes are {minutes // 60} hours and {minutes % 60} minutes."

    def opposite():
        word = draw.choice(list(OPPOSITES))
        return "Replace the adjective by its opposite and keep the rest of the sentence.", f"It was {'an' if word[0] in 'aeiou' else 'a'} {word} thing to look at.", \
            f"It was {'an' if OPPOSITES[word][0] in 'aeiou' else 'a'} {OPPOSITES[word]} thing to look at."

    def extract():
        first, second = draw.sample(NAMES, 2)
        day, place, hour = draw.choice(DAYS), draw.choice(PLACES), draw.randint(8, 20)
        return "Extract the names, the day, the time and the place as JSON.", f"{first} will meet {second} on {day} at {hour}:30 in front of {place}.", \
            json.dumps({"names": [first, second], "day": day, "time": f"{hour}:30", "place": place}, ensure_ascii=False)

    def code():
        limit, step = draw.randint(10, 60), draw.randint(2, 7)
        values = list(range(step, limit + 1, step))
        return f"Write a Python expression that lists the multiples of {step} up to {limit}, and say what it gives.", "", \
            f"`list(range({step}, {limit + 1}, {step}))` gives {values}."

    kinds = [add, order, capital, plural, past, how, fact, odd, convert, opposite, extract, code]
    return unique(160, lambda i: dict(zip(("instruction", "input", "output"), kinds[i % len(kinds)]())))


def grammar(draw):
    """Columns input (with mistakes) and output (without)."""
    subjects = [("She", 1), ("He", 1), ("My brother", 1), ("The engineer", 1), ("They", 0), ("We", 0), ("My parents", 0), ("The students", 0), ("The old captain", 1)]
    actions = [("walk", "walks", "walked", "to {place}"), ("wait", "waits", "waited", "for the bus near {place}"), ("work", "works", "worked", "at {place}"),
               ("look", "looks", "looked", "for a present in {place}"), ("talk", "talks", "talked", "about the new bridge with {name}"),
               ("paint", "paints", "painted", "a picture of an {animal}"), ("listen", "listens", "listened", "to the radio with {name}"),
               ("count", "counts", "counted", "the boats at {place}"), ("borrow", "borrows", "borrowed", "a ladder from {name}")]

    def row(_):
        subject, single = draw.choice(subjects)
        base, third, past, rest = draw.choice(actions)
        animal = draw.choice(["otter", "ibex"])
        rest = rest.format(place=draw.choice(PLACES), name=draw.choice(NAMES), animal=animal)
        day = draw.choice(DAYS)
        kind = draw.randrange(7)
        verb = third if single else base
        right = f"{subject} {verb} {rest} every {day}."
        if kind == 0:  # agreement
            wrong = f"{subject} {base if single else third} {rest} every {day}."
        elif kind == 1:  # tense
            right, wrong = f"{subject} {past} {rest} last {day}.", f"{subject} {verb} {rest} last {day}."
        elif kind == 2:  # article
            wrong = right.replace(" the ", " ", 1) if " the " in right else right.replace(" a ", " ", 1).replace(" an ", " a ", 1)
        elif kind == 3:  # spelling and capitals
            wrong = right.replace(day, day.lower()).replace("every", "evry")
        elif kind == 4:  # doubled subject
            wrong = f"{subject} {'he' if single else 'they'} {verb} {rest} every {day}."
        elif kind == 5:
            right = f"{subject} {'does' if single else 'do'} not {base} {rest} on {day}s."
            wrong = f"{subject} {'do' if single else 'does'} not {base} {rest} in {day}s."
        else:
            right, wrong = f"Yesterday {subject[0].lower() + subject[1:] if subject != 'I' else subject} {past} {rest}, and it's still the talk of the town.", \
                f"Yesterday {subject[0].lower() + subject[1:]} {past} {rest}, and its still talk of the town"
        return {"input": wrong, "output": right} if wrong != right else None

    return unique(160, row)


def summarize(draw):
    """Columns dialogue and summary."""
    openings = ["Hey {b}, do you have a minute?", "{b}! Glad I caught you.", "Hi {b}, how was your week?", "Morning {b} :)", "Are you there, {b}?"]
    replies = ["Sure, what's up?", "Yes, I'm on the train, go ahead.", "Busy as ever, but fine. And you?", "Hi {a}! Just making coffee.", "Here I am. Is anything wrong?"]
    closings = [("Perfect, see you then!", "Bye!"), ("You're the best.", "I know ;)"), ("Great, I'll put it in my calendar.", "Me too."), ("Thanks a lot!", "No problem.")]

    def meeting(a, b):
        day, place, hour = draw.choice(DAYS), draw.choice(PLACES), draw.randint(9, 17)
        lines = [(a, f"I've got two tickets for a show near {place} on {day}. Would you like to come?"), (b, "I'd love to! When does it start?"),
                 (a, f"At {hour + 1}, so let's meet at {hour}:30 in front of {place}."), (b, f"I work until {hour}, it might get tight. But I'll take the bike."),
                 (a, "If you're late I'll wait inside, at the cloakroom.")]
        return lines, f"{a} invites {b} to a show on {day}. They will meet at {hour}:30 in front of {place}; {b} comes by bike after work."

    def lost(a, b):
        thing, place = draw.choice(["keys", "umbrella", "charger", "scarf", "notebook"]), draw.choice(PLACES)
        lines = [(a, f"Did I leave my {thing} at your place last night?"), (b, "Let me check. Not in the hall, and not in the kitchen either."), (a, "Oh no. I've been looking for hours."),
                 (b, f"Weren't we at {place} before that? You put your bag down there."), (a, f"You're right! I'll call {place} at once."), (b, "Tell me if they have it.")]
        return lines, f"{a} is looking for the {thing} and did not leave them at {b}'s. {a} will ask at {place}." if thing == "keys" else \
            f"{a} is looking for the {thing} and did not leave it at {b}'s. {a} will ask at {place}."

    def party(a, b):
        fruit, count, third = draw.choice(FRUITS), draw.randint(6, 30), draw.choice([name for name in NAMES if name not in (a, b)])
        lines = [(a, f"{third} turns {count + 20} on {draw.choice(DAYS)}. Shall we do something?"), (b, "A surprise party? We could use our garden."),
                 (a, f"Lovely. I can bake something with {fruit}."), (b, f"Then I'll buy drinks for {count} people and hang up the lights."), (a, f"And not a word to {third}!")]
        return lines, f"{a} and {b} plan a surprise party for {third} in {b}'s garden. {a} bakes something with {fruit}, {b} buys drinks for {count} people."

    def repair(a, b):
        thing, hour = draw.choice(["washing machine", "boiler", "dishwasher", "front door", "printer"]), draw.randint(8, 18)
        day, other = draw.sample(DAYS, 2)
        lines = [(a, f"The {thing} is broken again."), (b, "Again? It was repaired only last month."), (a, f"The technician can come on {day} at {hour}, but I'm away."),
                 (b, f"I could be there, but only on {other}."), (a, f"I'll ask whether {other} works for them."), (b, f"Any time after {hour}, please.")]
        return lines, f"The {thing} is broken again. The technician offered {day}, but {a} is away, so {a} will ask for {other} after {hour}, when {b} is there."

    def trip(a, b):
        city, hours, price = draw.choice(list(CITIES)), draw.randint(2, 14), draw.randint(40, 400)
        lines = [(a, f"What do you think of {city} for the holidays?"), (b, f"I've always wanted to see {CITIES[city]}! How long does it take?"),
                 (a, f"{hours} hours by train and ferry, or a flight for {price} euros."), (b, "Let's not fly if we can avoid it."), (a, "Then we should book the train soon, it fills up."),
                 (b, "I'll look at hotels tonight.")]
        return lines, f"{a} and {b} want to spend their holidays in {city} and go by train and ferry ({hours} hours) instead of flying. {b} looks for hotels tonight."

    kinds = [meeting, lost, party, repair, trip]

    def row(i):
        a, b = draw.sample(NAMES, 2)
        lines, summary = kinds[i % len(kinds)](a, b)
        thanks, bye = draw.choice(closings)
        lines = [(a, draw.choice(openings).format(a=a, b=b)), (b, draw.choice(replies).format(a=a, b=b)), *lines, (a, thanks), (b, bye)]
        return {"dialogue": "\r\n".join(f"{who}: {said}" for who, said in lines), "summary": summary}

    return unique(120, row)


def preferences(draw):
    """Columns prompt, chosen and rejected: a helpful answer, and one that is curt, evasive, wordy or wrong."""
    bad = ["I don't know.", "That is a good question. There are many opinions about that, and it depends on a lot of things, so it is hard to say anything in general.",
           "You could simply look that up yourself.", "As everyone knows, that is just how it is.", "Yes.",
           "Thank you so much for this wonderful question! I am thrilled to help. Before I answer let me say how much I appreciate it."]

    def row(i):
        if i % 3 == 0:
            question, answer = draw.choice(FACTS)
            return {"prompt": question, "chosen": answer, "rejected": draw.choice(bad)}
        if i % 3 == 1:
            task, steps = draw.choice(HOW_TO)
            missing = draw.randrange(len(steps))
            return {"prompt": f"How do I {task}?", "chosen": "Like this: first, " + "; then ".join(steps) + ".",
                    "rejected": draw.choice(bad + [steps[missing][0].upper() + steps[missing][1:] + "."])}
        first, second = draw.randint(12, 99), draw.randint(12, 99)
        off = draw.choice([-10, 10, 1, 100])
        return {"prompt": f"What is {first} times {second}?", "chosen": f"{first} times {second} is {first * second}.", "rejected": f"{first} times {second} is {first * second + off}."}

    return unique(120, row)


def plain(draw):
    """Column messages: conversations of several turns."""
    def row(i):
        messages = [{"role": "system", "content": "You answer briefly and politely."}] if i % 4 == 0 else []
        for question, answer in draw.sample(FACTS, draw.randint(1, 3)):
            messages += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        if i % 2:
            task, steps = draw.choice(HOW_TO)
            messages += [{"role": "user", "content": f"Thanks. And how do I {task}?"}, {"role": "assistant", "content": ". ".join(s[0].upper() + s[1:] for s in steps) + "."}]
        return {"messages": messages}

    return unique(80, row)


def unique(count, make):
    """`count` different rows; make(i) may give None."""
    rows, seen = [], set()
    attempt = 0
    while len(rows) < count:
        row = make(attempt)
        attempt += 1
        key = json.dumps(row)
        if row is not None and key not in seen:
            seen.add(key)
            rows.append(row)
        if attempt > 100 * count:
            raise RuntimeError("too few different rows")
    return rows


def write_lines(name, rows):
    (FOLDER / name).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def main():
    FOLDER.mkdir(exist_ok=True)
    write_lines("instruct.jsonl", instruct(random.Random(1)))
    with open(FOLDER / "grammar.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["input", "output"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(grammar(random.Random(2)))
    (FOLDER / "summarize.json").write_text(json.dumps(summarize(random.Random(3)), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    write_lines("preferences.jsonl", preferences(random.Random(4)))
    write_lines("plain.jsonl", plain(random.Random(5)))


if __name__ == "__main__":
    main()
