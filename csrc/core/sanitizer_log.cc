#include "core/sanitizer_log.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <regex>
#include <sstream>

#include "core/diagnostics.h"

namespace jaxkern {
namespace {

// How far from an array an access may be and still be meant for it.
constexpr uint64_t kNear = uint64_t{16} << 20;
constexpr uint64_t kNullPage = 4096;
// std::regex recurses; a template's name in a report may be very long.
constexpr size_t kLongest = 400;

/// A line that stands out, and the indented ones under it.
struct Report {
  std::string head;
  std::vector<std::string> details;
};

std::vector<Report> Reports(const std::string& log) {
  const std::string mark = "=========";
  std::vector<Report> reports;
  bool open = false;
  std::istringstream stream(log);
  for (std::string line; std::getline(stream, line);) {
    const size_t at = line.find_first_not_of(' ');
    if (at == std::string::npos || line.compare(at, mark.size(), mark) != 0) {
      continue;
    }
    const std::string text = line.substr(at + mark.size());
    const size_t indent = text.find_first_not_of(' ');
    if (indent == std::string::npos) {
      open = false;
    } else if (indent < 4) {
      reports.push_back({text.substr(indent), {}});
      open = true;
    } else if (open) {
      reports.back().details.push_back(text.substr(indent));
    }
  }
  return reports;
}

std::optional<std::smatch> Match(const std::string& text,
                                 const std::string& pattern) {
  // The match points into the text, which must not be a copy.
  std::smatch match;
  if (text.size() > kLongest ||
      !std::regex_search(text, match, std::regex(pattern))) {
    return std::nullopt;
  }
  return match;
}

/// "2,400" is 2400.
uint64_t Number(std::string digits) {
  digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
  return std::strtoull(digits.c_str(), nullptr, 0);
}

std::string Plural(uint64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// The last "<source>:<line>" in the text; 0 if there is none.
int LineIn(const std::string& text, const std::string& source) {
  const std::string name = source + ":";
  for (size_t at = text.rfind(name); at != std::string::npos && at > 0;
       at = text.rfind(name, at - 1)) {
    if (text[at - 1] != ' ' && text[at - 1] != '/') continue;
    const int line = std::atoi(text.c_str() + at + name.size());
    if (line > 0) return line;
  }
  return 0;
}

std::string At(int line) {
  return line > 0 ? "line " + std::to_string(line) : "an unknown line";
}

/// One log, being told.
class Teller {
 public:
  Teller(const std::string& source, const std::vector<PlacedArray>& arrays)
      : source_(source), arrays_(arrays) {}

  /// What a report says, or nothing if it is of no kind known here.
  std::string Tell(const Report& report) const {
    for (const auto tell :
         {&Teller::TellAccess, &Teller::TellUninitialised, &Teller::TellHazard,
          &Teller::TellRace, &Teller::TellBarrier}) {
      const std::string text = (this->*tell)(report);
      if (!text.empty()) return text;
    }
    return "";
  }

  /// A report of a kind that is not known, in its own words.
  std::string Quote(const Report& report) const {
    std::string text = CleanMessage(report.head, kLongest);
    while (!text.empty() &&
           std::ispunct(static_cast<unsigned char>(text.back())))
      text.pop_back();
    return Place(report) + text + Who(report) + LastCase();
  }

 private:
  /// "kernel.cu:12: ", by the innermost frame that is in the source.
  std::string Place(const Report& report) const {
    for (const std::string& detail : report.details) {
      if (const int line = LineIn(detail, source_)) return Place(line);
    }
    return Place(0);
  }

  std::string Place(int line) const {
    return source_ + (line > 0 ? ":" + std::to_string(line) : "") + ": ";
  }

  static std::string Who(const Report& report) {
    for (const std::string& detail : report.details) {
      if (const auto by = Match(detail,
                                "^by thread (\\(\\d+,\\d+,\\d+\\)) in "
                                "block (\\(\\d+,\\d+,\\d+\\))")) {
        return " by thread " + (*by)[1].str() + " of block " + (*by)[2].str();
      }
    }
    return "";
  }

  /// Where a run ends at a fault, it was the last case that has it.
  std::string LastCase() const {
    return arrays_.empty() ? "" : InCase(arrays_.back());
  }

  static std::string InCase(const PlacedArray& array) {
    return array.label.empty() ? "" : ", in case " + array.label;
  }

  /// The array that an address was meant for; of the last case's if the run
  /// ended there. Null if none is near.
  const PlacedArray* Find(uint64_t address, bool of_last) const {
    const PlacedArray* nearest = nullptr;
    uint64_t least = kNear;
    for (const PlacedArray& array : arrays_) {
      if (of_last && array.run != arrays_.back().run) continue;
      const uint64_t end = array.address + array.bytes;
      const uint64_t away = address < array.address ? array.address - address
                            : address < end         ? 0
                                                    : address - end + 1;
      if (away >= least) continue;
      least = away;
      nearest = &array;
    }
    return nearest;
  }

  /// "x[3]", or "x[4..7]" for what is wider than an element.
  static std::string Element(const PlacedArray& array, uint64_t address,
                             uint64_t bytes) {
    const auto element = static_cast<int64_t>(array.element);
    const auto offset = static_cast<int64_t>(address - array.address);
    const int64_t first =
        (offset < 0 ? offset - element + 1 : offset) / element;
    const int64_t last =
        first + std::max<int64_t>(static_cast<int64_t>(bytes) - 1, 0) / element;
    return array.name + "[" + std::to_string(first) +
           (last > first ? ".." + std::to_string(last) : "") + "]";
  }

  std::string TellAccess(const Report& report) const {
    const auto head =
        Match(report.head,
              "nvalid +__(\\w+)__ +([\\w ()-]+?) of size ([\\d,]+) byte");
    if (!head) return "";
    const std::string space = (*head)[1], verb = (*head)[2];
    const uint64_t bytes = Number((*head)[3]);
    std::string how = "is out of bounds";
    uint64_t address = 0;
    for (const std::string& detail : report.details) {
      const auto access = Match(
          detail, "^(?:Address|Access at|Access to) (0x[0-9a-f]+) ?(.*)$");
      if (!access) continue;
      address = Number((*access)[1]);
      how = (*access)[2];
      break;
    }
    std::string what;
    if (how.find("misaligned") != std::string::npos) {
      what =
          "misaligned " + verb + " of " + Target(report, space, address, bytes);
      if (what.find(" bytes") == std::string::npos) {
        what.insert(11, std::to_string(bytes) + "-byte ");
      }
    } else if (how.find("out of bounds") == std::string::npos) {
      what = "invalid " + verb + " of " + Plural(bytes, "byte") + " of " +
             space + " memory, which " + CleanMessage(how, kLongest);
    } else if (space == "global" && address < kNullPage) {
      what = verb + " through a null pointer";
    } else {
      what = "out-of-bounds " + verb + " of " +
             Target(report, space, address, bytes);
    }
    return Place(report) + what + Who(report) + LastCase();
  }

  /// What an invalid access was made to.
  std::string Target(const Report& report, const std::string& space,
                     uint64_t address, uint64_t bytes) const {
    // Where in shared memory tells little: the system has its own part there.
    if (space != "global") {
      return Plural(bytes, "byte") + " of " + space + " memory";
    }
    if (const PlacedArray* array = Find(address, /*of_last=*/true)) {
      return Element(*array, address, bytes) + " (" + array->name + " has " +
             Plural(array->bytes / array->element, "element") + ")";
    }
    for (const std::string& detail : report.details) {
      const auto near =
          Match(detail,
                "^and is [\\d,]+ bytes (before|after) the nearest allocation "
                "at (0x[0-9a-f]+) of size ([\\d,]+)");
      if (!near) continue;
      const uint64_t base = Number((*near)[2]), size = Number((*near)[3]);
      const bool after = (*near)[1] == "after";
      const uint64_t away = after ? address - base - size : base - address;
      if (away >= kNear) break;
      return Plural(bytes, "byte") + ", " + Plural(away, "byte") +
             (after ? " past the end" : " before the start") +
             " of a buffer of " + Plural(size, "byte") + " that is no argument";
    }
    return Plural(bytes, "byte") + " far outside every array";
  }

  std::string TellUninitialised(const Report& report) const {
    const auto head =
        Match(report.head,
              "^Uninitialized __(\\w+)__ memory read of size ([\\d,]+) byte");
    if (!head) return "";
    const uint64_t bytes = Number((*head)[2]);
    const PlacedArray* array = nullptr;
    std::string what =
        Plural(bytes, "byte") + " of " + (*head)[1].str() + " memory";
    for (const std::string& detail : report.details) {
      const auto access = Match(detail, "^Address (0x[0-9a-f]+)");
      if (!access || (*head)[1] != "global") continue;
      const uint64_t address = Number((*access)[1]);
      array = Find(address, /*of_last=*/false);
      if (array != nullptr && address - array->address < array->bytes) {
        what = Element(*array, address, bytes);
      } else {
        array = nullptr;
        what = Plural(bytes, "byte") + " of a buffer that is no argument";
      }
    }
    const std::string who = Who(report);
    return Place(report) + "read of " + what +
           ", which nothing has written yet" + (who.empty() ? "" : ",") + who +
           (array != nullptr ? InCase(*array) : "");
  }

  static std::string Verb(const std::string& access) {
    return access == "Read"    ? "read"
           : access == "Write" ? "written"
                               : "updated atomically";
  }

  /// Two threads in one place of shared memory.
  std::string TellHazard(const Report& report) const {
    const auto head =
        Match(report.head,
              "hazard detected at __shared__ 0x[0-9a-f]+(?: in block "
              "(\\(\\d+,\\d+,\\d+\\)))?");
    if (!head) return "";
    const bool warp = report.head.find("Warp Level") != std::string::npos;
    std::string text;
    int first = 0;
    for (const std::string& detail : report.details) {
      const auto thread =
          Match(detail, "^(\\w+) Thread (\\(\\d+,\\d+,\\d+\\))");
      if (!thread) continue;
      const int line = LineIn(detail, source_);
      if (text.empty()) first = line;
      text += (text.empty() ? "" : ", ") + Verb((*thread)[1]) + " by thread " +
              (*thread)[2].str() + " at " + At(line);
    }
    if (text.empty()) return "";
    return Place(first) + "race on shared memory: " + text + ", no barrier " +
           (warp ? "or __syncwarp " : "") + "between them" +
           ((*head)[1].matched ? " (block " + (*head)[1].str() + ")" : "");
  }

  /// Two lines, any threads.
  std::string TellRace(const Report& report) const {
    const std::string mark = "Race reported between ";
    const size_t at = report.head.find(mark);
    if (at == std::string::npos) return "";
    std::string text;
    const auto add = [&](const std::string& access) {
      text += (text.empty() ? "" : ", ") +
              Verb(access.substr(0, access.find(' '))) + " at " +
              At(LineIn(access, source_));
    };
    add(report.head.substr(at + mark.size()));
    for (const std::string& detail : report.details) {
      if (detail.compare(0, 4, "and ") != 0) continue;
      add(detail.substr(4));
      break;
    }
    return Place(LineIn(report.head, source_)) +
           "race on shared memory: " + text + ", no barrier between them";
  }

  std::string TellBarrier(const Report& report) const {
    const std::string mark = "Barrier error detected";
    if (report.head.compare(0, mark.size(), mark) != 0) return "";
    std::string what;
    if (report.head.find("in block") != std::string::npos) {
      what = "divergent barrier: not all threads of the block reach it;";
    } else if (report.head.find("in warp") != std::string::npos) {
      what =
          "divergent barrier: not all threads of the warp reach it together;";
    } else {
      what =
          "barrier error:" +
          CleanMessage(
              report.head.substr(std::min(report.head.size(), mark.size() + 1)),
              kLongest) +
          ";";
    }
    std::string who = Who(report);
    if (who.empty()) {
      what.pop_back();
    } else {
      who = " reached" + who;
    }
    return Place(report) + what + who + LastCase();
  }

  const std::string& source_;
  const std::vector<PlacedArray>& arrays_;
};

/// What is not about the candidate's code: the tool's own affairs, summaries,
/// and errors that the result has already.
bool IsNoise(const Report& report) {
  for (const char* mark :
       {"COMPUTE-SANITIZER", " SUMMARY: ", "Target application", "Tracking ",
        "Error: ", "Warning: ", "Program hit ", "Internal ", "Host API ",
        "Leaked ", "Unused ", "not printed", "Generating ", "skipped",
        "Maximum number"}) {
    if (report.head.find(mark) != std::string::npos) return true;
  }
  return false;
}

/// How much a report says: 0 is best. Races come in two forms and two grades.
int Rank(const Report& report) {
  const bool race = report.head.find("Race reported") != std::string::npos;
  const bool warning = report.head.find("arning: ") != std::string::npos ||
                       report.head.find("WARN") != std::string::npos;
  return (warning ? 2 : 0) + (race ? 1 : 0);
}

}  // namespace

std::string SanitizerFinding(const std::string& log, const std::string& source,
                             const std::vector<PlacedArray>& arrays) {
  const Teller teller(source, arrays);
  std::vector<Report> reports = Reports(log);
  std::stable_sort(
      reports.begin(), reports.end(),
      [](const Report& a, const Report& b) { return Rank(a) < Rank(b); });
  for (const Report& report : reports) {
    const std::string text = teller.Tell(report);
    if (!text.empty()) return text;
  }
  for (const Report& report : reports) {
    if (!IsNoise(report)) return teller.Quote(report);
  }
  return "";
}

}  // namespace jaxkern
