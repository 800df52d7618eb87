"""Texts on which tokenizers could differ: sentences in many scripts (written for this), code, numbers, white space, marks, control characters, bytes that
are no UTF-8, and random mixtures of them all. make_text.py and tests/bench/tokenizer.py read it."""
import random

SENTENCES = [
    "The ferry left at 7:45, an hour late, and nobody on the quay seemed to mind. It's what we'd expected, wasn't it?",
    "WE'LL SEE; THEY'VE GONE, I'M SURE. 'Tis nothing — the engineer's notes said \"don't\" (twice!), and that's that.",
    "Der Zug nach Köln fährt heute über Bonn; größere Verspätungen sind möglich. Straße, Öl, Übermut.",
    "L’été dernier, nous avons mangé des crêpes à l’œuf près du château. Ça coûtait 12,50 €.",
    "El niño comió piñas en el jardín; ¿quién sabe por qué? ¡Qué lástima!",
    "Zażółć gęślą jaźń. Příliš žluťoučký kůň. Árvíztűrő tükörfúrógép. Þetta er íslenska. Ðiện thoại của tôi bị hỏng rồi.",
    "İstanbul'da hava çok güzel, ılık bir rüzgâr esiyor.",
    "Вчера мы долго гуляли по набережной, а потом пошёл дождь. Это было 21-го числа.",
    "Щоранку він п'є каву і читає газету. България е красива страна. Ћирилица.",
    "Το πλοίο έφυγε νωρίς το πρωί και η θάλασσα ήταν ήρεμη. Ωραία ΜΈΡΑ!",
    "ذهبنا إلى السوق صباحًا واشترينا ١٢ تفاحة وبعض الخبز. اَلْعَرَبِيَّةُ لُغَةٌ جَمِيلَةٌ.",
    "امروز هوا خیلی خوب است و می‌خواهیم به کوه برویم. ۱۴۰۳/۰۵/۲۱",
    "בבוקר ירד גשם, ואחר כך יצאה השמש. שָׁלוֹם עֲלֵיכֶם!",
    "आज सुबह बाज़ार में बहुत भीड़ थी, इसलिए हम घर लौट आए। कीमत ₹१२५ है।",
    "আজ সকালে বৃষ্টি হয়েছিল। আমরা নদীর ধারে হাঁটছিলাম।",
    "இன்று காலை மழை பெய்தது. நாங்கள் கடற்கரைக்குச் சென்றோம்.",
    "ఈ రోజు వాతావరణం చాలా బాగుంది. ಕನ್ನಡ ಒಂದು ಭಾಷೆ. മലയാളം പഠിക്കാം. ગુજરાતી સરસ છે. ਪੰਜਾਬੀ ਬੋਲੀ।",
    "วันนี้อากาศดีมาก เราจึงเดินไปตลาดด้วยกัน ราคา ๒๕ บาท",
    "ມື້ນີ້ຝົນຕົກ. မနက်က မိုးရွာတယ်။ ថ្ងៃនេះមេឃស្រឡះ។",
    "今天早上下了一场大雨，我们只好坐地铁去上班。价格是一百二十元。",
    "今朝は雨が降っていたので、電車で会社へ行きました。カタカナとひらがな、ｶﾀｶﾅ。",
    "오늘 아침에는 비가 와서 지하철을 타고 출근했습니다. ㅋㅋㅋ 한글",
    "დღეს კარგი ამინდია. Այսօր լավ եղանակ է։ ዛሬ ጥሩ አየር ነው። ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ. ᠮᠣᠩᠭᠣᠯ᠎ᠠ ᠪᠢᠴᠢᠭ᠌",
    "བོད་སྐད་ཡག་པོ་འདུག ꦗꦮ ᐃᓄᒃᑎᑐᑦ 𐌰𐌱𐌲 𒀀𒁀 𓀀𓂀 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟙𝟚𝟛 Ⅷ ½ ² ①②③",
    "😀 😃👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇯🇵 ☃️ ✈ 1️⃣2️⃣ ❤️‍🔥 🫠🪿",
    "é (e + U+0301) ñ Å ợ Z̸̢̛a̶͓͝l̴̰̈g̵̘̍o̷̰͛ ا̈",
    "for (int i = 0; i < n; ++i) {\n\tsum += a[i] * 0x1Fu;  // 1e-9 && ~mask\n}\n\n\n#include <vector>\n",
    "def f(x: int = 3) -> str:\n    return f\"{x!r:>10}\" if x else 'none'\n\n\nclass A(B):\n        pass\n",
    "{\"a\": [1, 2.50, null, \"\\u00e9\"], \"b\": {\"c\": \"<|eot_id|>\"}}\n<|begin_of_text|><|start_header_id|>user<|end_header_id|>",
    "https://example.org/path?q=a%20b&c=1#top mail@example.org C:\\Users\\me\\file.txt --flag=value $HOME/*.{c,h}",
    "1 12 123 1234 12345 123456789012345 3.14159 1,000,000.00 -5 +7 1/2 10^6 5G H2O A4 2026-11-21T15:20:01Z",
    "a\tb\t\tc  d   e    f\n\ng\r\nh\r\n\r\ni \n j\n   \nk\u00a0l\u2003m\u3000n\u2028o\u0085p\u000bq\u000cr\u001cs\u180et\u200bu\ufeffv ",
    "'s 'S '\u017f 'T're'VE'll 'Dx 's's ''''s ’s n’t",
    "zero\x00one\x01\x02\x1b[31mred\x1b[0m\x7f del\u0080\u009f",
    "unassigned \u0378 \ue000 \U000f0000 \U0010ffff noncharacter \ufffe \uffff replacement \ufffd",
    "newer letters: \U00031350\U000323af \U0002ebf0 \U00010d4a \U00011f04 \U0001e4d0 \U0001df00",
]

# Bytes that are no UTF-8, alone and inside text; Python reads them with errors="replace".
BROKEN = [b"\xff", b"a\xc3", b"\xc3(", b"\xe4\xbd x", b"\xf0\x9f\x98 cut", b"\xed\xa0\x80 surrogate", b"\xc0\xaf overlong", b"\xf5\x80\x80\x80",
          b"x\x80y\xbfz", b"\xf0\x9f\x98\x80\xf0\x9f", b"\xe2\x28\xa1 \xe2\x82", b"\xfe\xfe\xff\xff latin \xe9t\xe9"]


def mixtures(count, seed, pieces=12):
    """Random texts out of the sentences' words, their single characters, and runs of white space and punctuation."""
    draw = random.Random(seed)
    words = [word for sentence in SENTENCES for word in sentence.split(" ")]
    characters = sorted({character for sentence in SENTENCES for character in sentence})
    glue = ["", "", " ", " ", " ", "  ", "\n", "\n\n", "\t", "\r\n", " \n ", "    ", "'", "-", "...", "\u00a0", "!!", "0", "12", "3456"]
    for _ in range(count):
        text = ""
        for _ in range(draw.randint(1, pieces)):
            kind = draw.random()
            if kind < 0.6:
                text += draw.choice(words)
            elif kind < 0.9:
                text += "".join(draw.choice(characters) for _ in range(draw.randint(1, 6)))
            else:
                text += draw.choice(characters) * draw.randint(2, 40)
            text += draw.choice(glue)
        yield text


def long_texts():
    """Where the recipes' cuts, and pieces too long for a quadratic merge, matter."""
    yield "a" * 30_001
    yield " " * 30_001 + "x"
    yield ("b" * 24_999 + " ") * 3 + "\n" * 25_003
    yield "é" * 26_000 + "\u3000" * 26_000
    yield "The quick brown fox. " * 20_000  # 420,000 characters
    yield "xyz" * 9_000
    yield "!?" * 13_000
    yield "汉字" * 13_000
