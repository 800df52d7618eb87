#!/usr/bin/env python3
"""Each file includes what it uses of the standard library, and nothing of it that it does not use.

What one library's <string> happens to bring along (<cstdint>, say) another one's does not, so a green build here says little of other systems.
A file has what it and the headers of the project that it includes bring. The table names each header of the standard library that the
project uses with what is taken from it; a name of std that it lacks is an error too, so that the table stays whole.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# header: names that it gives, of which those of std are written as after "std::", those with a leading "::" are without it (macros, C's types).
HEADERS = {
    "algorithm": """adjacent_find all_of any_of binary_search clamp copy copy_if copy_n count count_if equal equal_range fill fill_n find find_end
        find_first_of find_if find_if_not for_each generate generate_n includes inplace_merge is_permutation is_sorted iter_swap lexicographical_compare
        lower_bound make_heap max max_element merge min min_element minmax minmax_element mismatch move next_permutation none_of nth_element
        partial_sort partition partition_point pop_heap prev_permutation push_heap remove remove_copy_if remove_if replace replace_if reverse rotate sample search
        set_difference set_intersection set_union shuffle sort sort_heap stable_partition stable_sort swap_ranges transform unique upper_bound""",
    "array": "array",
    "atomic": """atomic atomic_flag atomic_ref atomic_signal_fence atomic_thread_fence memory_order memory_order_acq_rel memory_order_acquire memory_order_relaxed
        memory_order_release memory_order_seq_cst""",
    "barrier": "barrier",
    "bit": "bit_cast bit_ceil bit_floor bit_width countl_zero countr_zero endian has_single_bit popcount rotl rotr",
    "cassert": "::assert",
    "cctype": "isalnum isalpha isdigit islower isprint ispunct isspace isupper isxdigit tolower toupper",
    "cerrno": "::errno",
    "charconv": "chars_format from_chars to_chars from_chars_result to_chars_result",
    "chrono": "chrono chrono_literals",
    "climits": "::INT_MAX ::UINT_MAX ::INT_MIN ::LONG_MAX ::CHAR_BIT ::PATH_MAX ::IOV_MAX",
    "cmath": """abs acos asin atan atan2 ceil copysign cos cosh erf erfc exp exp2 expm1 fabs floor fma fmax fmin fmod frexp hypot isfinite isinf isnan ldexp
        lgamma llround log log10 log1p log2 lround modf nan nearbyint pow remainder rint round signbit sin sinh sqrt tan tanh tgamma trunc
        ::INFINITY ::NAN""",
    "compare": "strong_ordering weak_ordering partial_ordering",
    "concepts": "convertible_to derived_from floating_point integral invocable same_as",
    "condition_variable": "condition_variable condition_variable_any cv_status",
    "csetjmp": "longjmp jmp_buf ::setjmp ::jmp_buf ::longjmp ::sigjmp_buf ::sigsetjmp ::siglongjmp",
    "csignal": "signal raise sig_atomic_t " + " ".join(f"::SIG{s}" for s in """ABRT ALRM BUS CHLD CONT FPE HUP ILL INT KILL PIPE QUIT SEGV STOP TERM
        TSTP TTIN TTOU USR1 USR2 XCPU XFSZ WINCH _BLOCK _SETMASK _UNBLOCK _DFL _IGN""".split()) + " ::sigaction ::sigset_t ::sigemptyset ::kill",
    "cstdarg": "va_list ::va_list ::va_start ::va_end",
    "cstddef": "byte nullptr_t ptrdiff_t size_t max_align_t ::offsetof ::ptrdiff_t ::size_t",
    "cstdint": " ".join(f"{p}{u}int{w}_t" for p in ("", "::") for u in ("", "u") for w in (8, 16, 32, 64, "ptr", "max")) +
               " ".join([""] + [f"::{u}INT{w}_{e}" for u in ("", "U") for w in (8, 16, 32, 64, "PTR") for e in ("MAX", "MIN", "C")]) + " ::SIZE_MAX",
    "cstdio": """FILE fclose feof ferror fflush fgetc fgets fileno fopen fprintf fputc fputs fread freopen fseek ftell fwrite getc perror printf putchar puts
        remove rename rewind setvbuf snprintf sscanf stderr stdin stdout tmpfile vsnprintf vfprintf
        ::stderr ::stdout ::stdin ::EOF ::BUFSIZ ::SEEK_SET ::SEEK_END ::fdopen ::fileno ::getline ::popen ::pclose ::snprintf ::FILE ::SEEK_CUR""",
    "cstdlib": """_Exit abort abs aligned_alloc atexit atof atoi atoll calloc exit free getenv malloc qsort quick_exit realloc size_t strtod strtol strtoll
        strtoul strtoull system ::setenv ::unsetenv ::EXIT_FAILURE ::EXIT_SUCCESS ::mkdtemp ::mkstemp ::realpath ::free ::malloc ::posix_memalign
        ::strtod_l ::getenv ::abort ::calloc ::realloc ::size_t ::posix_openpt ::grantpt ::unlockpt ::ptsname""",
    "cstring": """memchr memcmp memcpy memmove memset size_t strchr strcmp strcpy strerror strlen strncmp strncpy strrchr strstr
        ::memcpy ::memset ::strlen ::strsignal ::strdup ::strcmp ::strncmp ::memcmp ::strerror ::memmove ::size_t ::strchr ::strstr ::sigabbrev_np ::strerror_r""",
    "ctime": """clock clock_t gmtime localtime mktime size_t strftime time time_t tm ::CLOCKS_PER_SEC ::CLOCK_BOOTTIME ::CLOCK_MONOTONIC ::CLOCK_REALTIME
        ::clock_gettime ::gmtime_r ::localtime_r ::timespec ::time_t ::nanosleep ::tm ::timegm ::strftime ::CLOCK_PROCESS_CPUTIME_ID
        ::CLOCK_THREAD_CPUTIME_ID ::clock_nanosleep""",
    "deque": "deque erase erase_if",
    "exception": """current_exception exception exception_ptr make_exception_ptr rethrow_exception set_terminate terminate terminate_handler
        uncaught_exceptions""",
    "filesystem": "filesystem",
    "fstream": "fstream ifstream ofstream filebuf",
    "functional": """cref equal_to function greater greater_equal hash less less_equal mem_fn minus multiplies not_fn plus ref reference_wrapper bind_front
        invoke""",
    "future": "async future future_status launch packaged_task promise shared_future",
    "initializer_list": "initializer_list",
    "iomanip": "setprecision setw setfill",
    "ios": "ios ios_base streamoff streamsize hex",
    "iostream": "cerr cin clog cout",
    "istream": "istream ws",
    "iterator": """advance back_inserter back_insert_iterator begin bidirectional_iterator_tag data distance empty end forward_iterator_tag input_iterator_tag
        inserter istreambuf_iterator istream_iterator iterator_traits make_move_iterator make_reverse_iterator next ostream_iterator ostreambuf_iterator
        prev random_access_iterator_tag rbegin rend reverse_iterator size ssize""",
    "latch": "latch",
    "limits": "numeric_limits",
    "list": "list erase_if",
    "map": "map multimap erase_if",
    "memory": """addressof allocator construct_at default_delete destroy_at enable_shared_from_this make_shared make_unique make_unique_for_overwrite
        shared_ptr static_pointer_cast dynamic_pointer_cast to_address uninitialized_copy unique_ptr weak_ptr""",
    "locale": "locale",
    "mutex": "adopt_lock call_once defer_lock lock lock_guard mutex once_flag recursive_mutex scoped_lock try_to_lock unique_lock",
    "new": "bad_alloc nothrow launder align_val_t get_new_handler set_new_handler new_handler",
    "numbers": "numbers",
    "numeric": "accumulate adjacent_difference gcd inner_product iota lcm midpoint partial_sum reduce",
    "optional": "make_optional nullopt nullopt_t optional",
    "ostream": "ostream endl flush",
    "queue": "priority_queue queue",
    "ratio": "milli micro nano ratio",
    "random": """bernoulli_distribution discrete_distribution exponential_distribution lognormal_distribution minstd_rand mt19937 mt19937_64
        normal_distribution random_device seed_seq uniform_int_distribution uniform_real_distribution""",
    "ranges": "views",
    "regex": "regex regex_match regex_replace regex_search smatch sregex_token_iterator",
    "set": "multiset set erase_if",
    "shared_mutex": "shared_lock shared_mutex",
    "span": "as_bytes as_writable_bytes span dynamic_extent",
    "sstream": "istringstream ostringstream stringstream",
    "stack": "stack",
    "stdexcept": "domain_error invalid_argument length_error logic_error out_of_range overflow_error range_error runtime_error",
    "streambuf": "streambuf",
    "string": """basic_string char_traits erase erase_if getline stod stof stoi stol stoll stoul stoull string to_string u16string u32string u8string
        wstring""",
    "string_view": "basic_string_view string_view u8string_view",
    "system_error": "errc error_category error_code error_condition generic_category make_error_code system_category system_error",
    "thread": "jthread this_thread thread stop_token",
    "tuple": "apply forward_as_tuple get ignore make_tuple tie tuple tuple_cat tuple_element_t tuple_size tuple_size_v",
    "type_traits": """add_const_t common_type_t conditional_t decay_t enable_if_t false_type integral_constant invoke_result_t is_arithmetic_v is_base_of_v
        is_const_v is_constant_evaluated is_convertible_v is_empty_v is_enum_v is_floating_point_v is_integral_v is_invocable_r_v is_invocable_v
        is_member_object_pointer_v
        is_nothrow_move_constructible_v is_pointer_v is_reference_v is_same is_same_v is_signed_v is_standard_layout_v is_trivially_copyable_v
        is_trivially_destructible_v is_unsigned_v is_void_v make_signed_t make_unsigned make_unsigned_t remove_const_t remove_cv_t remove_cvref_t
        remove_pointer_t remove_reference_t true_type type_identity type_identity_t underlying_type_t void_t is_class_v is_constructible_v
        is_default_constructible_v is_aggregate_v""",
    "typeinfo": "type_info bad_cast",
    "unordered_map": "unordered_map unordered_multimap erase_if",
    "unordered_set": "unordered_set unordered_multiset erase_if",
    "utility": """as_const cmp_equal cmp_greater cmp_less cmp_less_equal declval exchange forward get in_place in_place_t in_place_type index_sequence
        integer_sequence make_index_sequence make_pair move pair piecewise_construct swap to_underlying unreachable""",
    "variant": "get get_if holds_alternative monostate variant variant_size_v visit bad_variant_access variant_alternative_t",
    "vector": "erase erase_if vector",
    # Of fmt, whose newer versions no longer bring it along.
    "fmt/ranges.h": "::fmt::join",
}

# C's own names of headers give what those of C++ give.
C_NAMES = {f"{name[1:]}.h": name for name in HEADERS if name.startswith("c") and name not in ("charconv", "chrono", "compare", "concepts", "condition_variable")}

# Text in which a name is none (comments, strings, characters, but no digit separators), and the lines that include.
NO_CODE = re.compile(r'R"([^(\s"]*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*(?:.|\n)*?\*/')
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+[<"]([^>"\n]+)[>"].*\n', re.M)
OF_STD = re.compile(r"\bstd::(?:ranges::)?(\w+)")

# What headers give besides their own names: access to ranges and lists in braces with every container ([iterator.range] and the synopses),
# the complete base class of what derives from it, and the types that an interface hands out.
BESIDES = {
    "algorithm": "initializer_list pair size_t", "atomic": "ptrdiff_t size_t", "bit": "size_t", "chrono": "micro milli nano ratio", "cstdint": "size_t",
    "cstdio": "size_t", "ctime": "size_t", "filesystem": "error_code", "functional": "size_t", "iterator": "ptrdiff_t size_t",
    "map": "less pair", "memory": "size_t", "new": "exception size_t", "optional": "in_place", "random": "initializer_list size_t", "set": "less",
    "sstream": "string", "stdexcept": "exception", "system_error": "exception runtime_error", "tuple": "size_t", "unordered_map": "hash pair",
    "utility": "initializer_list size_t", "variant": "size_t",
}
CONTAINERS = "array deque list map queue set span stack string string_view unordered_map unordered_set vector".split()
STREAMS = "fstream iostream istream ostream sstream streambuf".split()
for header in CONTAINERS:
    BESIDES[header] = BESIDES.get(header, "") + " begin data empty end initializer_list rbegin rend size size_t ssize"
for header in STREAMS:
    BESIDES[header] = BESIDES.get(header, "") + " ios ios_base istream ostream streamoff streamsize"
for header, names in BESIDES.items():
    HEADERS[header] += f" {names}" + "".join(f" ::{name}" for name in names.split() if name in ("size_t", "ptrdiff_t"))


def givers():
    """{name: the headers that give it}; a name that is written without std:: keeps its leading "::"."""
    found = {}
    for header, names in HEADERS.items():
        for name in names.split():
            found.setdefault(name, set()).add(header)
    return found


GIVERS = givers()
# Such a name is no member, no part of a longer one and none of another namespace.
PLAIN = re.compile(r"(?<![\w.$])(?<!->)(?<!\w::)(" + "|".join(sorted((re.escape(n[2:]) for n in GIVERS if n.startswith("::")), key=len, reverse=True)) +
                   r")\b(?!::)")


class File:
    """What a file uses and includes of the standard library."""

    def __init__(self, path):
        self.path = path
        text = path.read_text(encoding="utf-8")
        self.includes = [C_NAMES.get(name, name) for name in INCLUDE.findall(text)]
        code = NO_CODE.sub(" ", INCLUDE.sub("", text))
        self.used = set(OF_STD.findall(code)) | {"::" + name for name in PLAIN.findall(code)}

    def faults(self, inherited):
        """What is missing or superfluous where `inherited` are the headers that the file has from the one of its own name."""
        own = {name for name in self.includes if name in HEADERS}
        for name in sorted(self.used - GIVERS.keys()):
            yield None, f"std::{name} stands in no header of the table in tests/structure/standard_headers.py; add it there"
        for name in sorted(self.used & GIVERS.keys()):
            if not GIVERS[name] & (own | inherited):
                shown = name[2:] if name.startswith("::") else "std::" + name
                yield name, f"uses {shown} without #include <{'>, <'.join(sorted(GIVERS[name]))}>"
        for header in sorted(own):
            if not any(header in GIVERS.get(name, ()) for name in self.used):
                yield "-" + header, f"includes <{header}> and uses nothing of it"


def closure(file, files, known):
    """The headers of the standard library that `file` has from headers of the project, which bring them on every system."""
    if file.path not in known:
        known[file.path] = set()  # headers that include each other end here
        for name in file.includes:
            other = files.get(ROOT / name) or files.get(file.path.parent / name)
            if other:
                known[file.path] |= {header for header in other.includes if header in HEADERS} | closure(other, files, known)
    return known[file.path]


def main():
    # A precompiled header has what others use.
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.cpp", "*.h", "*.cu", ":!*_pch.h"], cwd=ROOT, check=True, capture_output=True, text=True)
    files = {ROOT / name: File(ROOT / name) for name in listed.stdout.split("\n") if name and (ROOT / name).exists()}
    known = {}
    faults = [(file, what, text) for file in files.values() for what, text in file.faults(closure(file, files, known))]
    for file, _, text in faults:
        print(f"{file.path.relative_to(ROOT)}: {text}")
    print(f"{len(files)} files, {len(faults)} faults", file=sys.stderr)
    return 1 if faults or len(files) < 500 else 0


if __name__ == "__main__":
    sys.exit(main())
