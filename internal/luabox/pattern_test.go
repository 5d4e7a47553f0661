package luabox_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/yuin/gopher-lua"

	"github.com/axle-cd/axle/internal/luabox"
)

// TestPatterns: what Lua's manual says of patterns.
func TestPatterns(t *testing.T) {
	for source, want := range map[string]string{
		`return table.concat({string.match("2026-01-02T03:04:05Z", "(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)Z")}, " ")`:         "2026 01 02 03 04 05",
		`return table.concat({("k = v"):find("(%w+)%s*=%s*(%w+)")}, " ")`:                                                  "1 5 k v",
		`return table.concat({("abc"):find("b", 1, true)}, " ") .. tostring(("abc"):find("b", 3))`:                         "2 2nil",
		`return table.concat({("abc"):find("")}, " ") .. table.concat({("abc"):find("", 10)}, " ")`:                        "1 04 3",
		`return table.concat({("hello"):find("l+", -2)}, " ")`:                                                             "4 4",
		`return table.concat({("hello"):match("()ll()")}, " ")`:                                                            "3 5",
		`return ("THE (quick) fox"):find("%((%a+)%)") .. ("f(a(b)c)d"):match("%b()")`:                                      "5(a(b)c)",
		`return (("THE (quick) fox"):gsub("%f[%a]%a", "_"))`:                                                               "_HE (_uick) _ox",
		`return ([["it's"]]):match([[(["'])(.-)%1]])`:                                                                      `"`,
		`return tostring(("aaa"):match("^a-$")) .. ("aaa"):match("a-") .. ("<a><b>"):match("<(.-)>")`:                      "aaaa",
		`return tostring(("colour"):match("colou?r")) .. ("color"):match("colou?r")`:                                       "colourcolor",
		`return ("a]b-c^d"):match("[]]") .. ("a-b"):match("[a%-]+") .. ("a^b"):match("[b^]+") .. ("xyz"):match("[^x]+")`:   "]a-^byz",
		`return ("0x1F g"):match("%x+", 3) .. ("A1 _"):match("%W") .. ("tab\tx"):match("%s") .. ("a.b"):match("%p")`:       "1F \t.",
		`return ("a\0b"):match("%z") == "\0" and ("é"):match("%a") == nil`:                                                 "true",
		`return ("5$"):match("%d$") == nil and ("$5"):match("$%d") == "$5" and ("a^b"):match("a^b") == "a^b"`:              "true",
		`local n = "" for k, v in ("a=1, b=2"):gmatch("(%w+)=(%w+)") do n = n .. k .. v end return n`:                      "a1b2",
		`local n = 0 for w in ("abc"):gmatch("") do n = n + 1 end return n`:                                                "4",
		`local n = 0 for w in ("abc"):gmatch("^%a") do n = n + 1 end return n`:                                             "1",
		`return (("abc"):gsub("^%a", "x")) .. (("  trim "):gsub("^%s*(.-)%s*$", "%1")) .. (("abc"):gsub("%w", "%0%0", 0))`: "xbctrimabc",
		`return (("abc"):gsub("b", "%%")) .. select(2, ("abc"):gsub("%w", {a = 1, b = false}))`:                            "a%c3",
		`return (("hello world"):gsub("()", "%1"))`:                                                                        "1h2e3l4l5o6 7w8o9r10l11d12",
		`return select(2, pcall(string.find, "a", "[a"))`:                                                                  "string.find: malformed pattern: a [ without its ]",
		`return select(2, pcall(string.find, "a", "%"))`:                                                                   "string.find: malformed pattern: it ends with %",
		`return select(2, pcall(string.match, "a", "a)"))`:                                                                 "string.match: malformed pattern: a ) without its (",
		`return select(2, pcall(string.match, "a", "(a"))`:                                                                 "string.match: malformed pattern: a ( without its )",
		`return select(2, pcall(string.match, "aa", "%1"))`:                                                                "string.match: malformed pattern: no such capture",
		`return select(2, pcall(string.gsub, "a", "a", "%2"))`:                                                             "invalid capture index",
	} {
		got, err := run(t, small(), source)
		if err != nil || strings.TrimPrefix(got.String(), "test:1: ") != want {
			t.Errorf("%.100s\n got %v %v, want %s", source, got, err, want)
		}
	}
}

// TestPatternsCostWhatTheyDo: a form that could go back for ever is refused on
// a text where it does, and not on one where it does not.
func TestPatternsCostWhatTheyDo(t *testing.T) {
	for name, test := range map[string]struct{ source, fails string }{
		"many repeats, a short text":     {`assert(("2026-01-02T03:04:05.678Z"):match("(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)%.?(%d*)Z"))`, ""},
		"many repeats, no match":         {`assert(not ("2026-01-02 03:04:05"):match("(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)Z"))`, ""},
		"many repeats, a long text":      {`assert(not (("1"):rep(60) .. ("x "):rep(30000)):match("^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)Z"))`, ""},
		"many lines":                     {`local n = 0 for k, v in (("name = value\n"):rep(4000)):gmatch("(%w+)%s*=%s*(%w+)\n") do n = n + 1 end assert(n == 4000)`, ""},
		"a text is trimmed":              {`assert(#(("x "):rep(20000)):gsub("%s+$", "") == 39999)`, ""},
		"going back":                     {`return string.find(("a"):rep(3000), "a*a*a*a*b")`, "too costly"},
		"going back a little, often":     {`while true do string.find(("a"):rep(200), "a*a*b") end`, "too costly"},
		"balanced, from every place":     {`return string.find(("("):rep(60000), "%b()")`, "too costly"},
		"long sets":                      {`local set = "[" .. ("b"):rep(500) .. "]" return string.find(("a"):rep(60000), set .. "-" .. set)`, "too costly"},
		"what was kept, again and again": {`return string.find(("a"):rep(6000), "^(.*).-%1b")`, "too costly"},
		"replaced":                       {`return string.gsub(("a"):rep(60000), "a-b", "")`, "too costly"},
	} {
		t.Run(name, func(t *testing.T) {
			limits := small()
			limits.Steps = 1 << 40
			_, err := run(t, limits, test.source)
			if (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("got %v, want %q", err, test.fails)
			}
		})
	}
}

// TestTimeEndsPatterns: the clock is read while a pattern looks.
func TestTimeEndsPatterns(t *testing.T) {
	limits := small()
	limits.Pattern, limits.Time = 0, 10*time.Millisecond
	if _, err := run(t, limits, `pcall(string.find, ("a"):rep(30000), "a*a*a*a*b") while true do end`); !errors.Is(err, luabox.ErrTime) {
		t.Error(err)
	}
}

// FuzzPatterns: a search finds the same as the library's own, if that one supports
// the pattern, and never ends the process.
func FuzzPatterns(f *testing.F) {
	for _, seed := range [][2]string{{"2026-01-02", "(%d+)-(%d+)"}, {"a(b(c))", "%b()"}, {"aXbX", "(%w)X%1?"}, {"x = [y]", "^%s*(.-)%s*=%s*%[([^%]]*)%]$"}, {"", "()"}, {"a.b", "[^.%-]+"}} {
		f.Add(seed[0], seed[1])
	}
	const source = `local all = {}
local function keep(...) for n = 1, select("#", ...) do all[#all + 1] = tostring((select(n, ...))) end all[#all + 1] = "/" end
keep(string.find(text, pattern))
keep((string.match(text, pattern)))
for a, b in string.gmatch(text, pattern) do keep(a, b) end
keep(string.gsub(text, pattern, "<%0>"))
return table.concat(all, ",")`
	f.Fuzz(func(t *testing.T, text, pattern string) {
		if len(text) > 40 || len(pattern) > 16 || strings.Contains(pattern, "%f") {
			return
		}
		script, err := luabox.Compile("fuzz", source)
		if err != nil {
			t.Fatal(err)
		}
		limits := small()
		limits.Text = 1 << 20
		box := luabox.New(limits)
		defer box.Close()
		box.State.SetGlobal("text", lua.LString(text))
		box.State.SetGlobal("pattern", lua.LString(pattern))
		got, err := box.Run(script)
		theirs := lua.NewState()
		defer theirs.Close()
		theirs.SetGlobal("text", lua.LString(text))
		theirs.SetGlobal("pattern", lua.LString(pattern))
		if theirs.DoString(source) != nil || err != nil {
			return // each refuses some forms that the other takes
		}
		if want := theirs.Get(-1).String(); got.String() != want {
			t.Errorf("%q in %q\n got %s\nwant %s", pattern, text, got, want)
		}
	})
}
