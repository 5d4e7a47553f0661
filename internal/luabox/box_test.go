package luabox_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/yuin/gopher-lua"

	"github.com/axle-cd/axle/internal/luabox"
)

// small are limits that a test reaches soon.
func small() luabox.Limits {
	return luabox.Limits{Steps: 500_000, Time: 20 * time.Second, Bytes: 32 << 20, Text: 64 << 10, Pattern: 4_000_000, Calls: 100, Registry: 8192}
}

func run(t testing.TB, limits luabox.Limits, source string) (lua.LValue, error) {
	t.Helper()
	script, err := luabox.Compile("test", source)
	if err != nil {
		return lua.LNil, err
	}
	box := luabox.New(limits)
	defer box.Close()
	return box.Run(script)
}

// TestLanguage: bounded functions behave as Lua's own.
func TestLanguage(t *testing.T) {
	for source, want := range map[string]string{
		`return "a" .. 1 .. 2.5 .. "b"`:                                                                                               "a12.5b",
		`return ("a" .. "b") .. ("c" .. "d") .. "e"`:                                                                                  "abcde",
		`local function two() return "x", "y" end return "a" .. two()`:                                                                "ax",
		`local function f(...) return "a" .. ... end return f("x", "y")`:                                                              "ax",
		`local t = setmetatable({}, {__concat = function(a, b) return "m" end}) return "a" .. t .. "b"`:                               "am",
		`local t = setmetatable({n = 1}, {__concat = function(a, b) return type(a) .. type(b) end}) return t .. "b" .. "c"`:           "tablestring",
		`local s = "" for i = 1, 3 do s = i .. s .. ";" end return s`:                                                                 "321;;;",
		`return #(` + strings.Repeat(`"ab" .. `, 1000) + `"c")`:                                                                       "2001",
		`local ok, e = pcall(function() return "a" .. nil end) return e`:                                                              "test:1: attempt to concatenate a nil value",
		`local ok, e = pcall(function() return {} .. "a" end) return e`:                                                               "test:1: attempt to concatenate a table value",
		`return string.format("%5d|%-5s|%5.2f|%%|%q|5 * 3", 3, "x", 1.5, "q")`:                                                        `    3|x    | 1.50|%|"q"|5 * 3`,
		`return table.concat({1, "b", 3}, ", ") .. table.concat({}) .. table.concat({1, 2, 3}, "", 2) .. table.concat({1, 2}, "", 3)`: "1, b, 323",
		`return (string.gsub("hello world", "o", "0"))`:                                                                               "hell0 w0rld",
		`return (string.gsub("a=1, b=2", "(%w+)=(%w+)", "%2=%1 %0 %%"))`:                                                              "1=a a=1 %, 2=b b=2 %",
		`return (string.gsub("$a $b", "%$(%w+)", {a = "1"}))`:                                                                         "1 $b",
		`return (string.gsub("abc", "%w", function(c) if c ~= "b" then return c .. c end end))`:                                       "aabcc",
		`return (string.gsub("abc", "", "-"))`:                                                                                        "-a-b-c-",
		`return (string.gsub("abc", "(%w)", "%1%1", 2))`:                                                                              "aabbc",
		`local n = 0 for w in string.gmatch("one two", "%a+") do n = n + 1 end return n`:                                              "2",
		`return ("x"):rep(3) .. ("AB"):lower() .. ("ab"):upper() .. ("abc"):reverse() .. ("abc"):sub(2, 2) .. #"abc"`:                 "xxxabABcbab3",
		`return (string.find("a.b", ".", 1, true))`:                                                                                   "2",
		`local t = {} for i = 1, 50000 do t[#t + 1] = i end return #t`:                                                                "50000",
		`return tostring(string.dump) .. tostring(os) .. tostring(io) .. tostring(math.random) .. tostring(loadstring)`:               "nilnilnilnilnil",
		`if 1 then return "early" end return "late"`:                                                                                  "early",
		`x = 1`: "nil",
	} {
		limits := small()
		limits.Steps, limits.Bytes = 2_000_000, 1<<30
		got, err := run(t, limits, source)
		if err != nil || got.String() != want {
			t.Errorf("%.100s\n got %v %v, want %s", source, got, err, want)
		}
	}
}

// TestGrowth: whatever grows is stopped by its own bound, with little memory
// used up to there.
func TestGrowth(t *testing.T) {
	const tooLong = "too long"
	for name, test := range map[string]struct {
		source string
		want   any
	}{
		"a text is doubled":           {`local s = "xxxxxxxx" for i = 1, 60 do s = s .. s end`, tooLong},
		"and caught":                  {`local s = "xxxxxxxx" while true do pcall(function() s = s .. s end) end`, luabox.ErrBytes},
		"by 250 operands":             {`local s = ("x"):rep(60000) local t = ` + strings.Repeat("s .. ", 249) + "s", tooLong},
		"concat is shadowed":          {`for k in pairs(_G) do if k ~= "_G" then _G[k] = function(a, b) return a end end end _G["\0concat"] = error local s = "xxxxxxxx" for i = 1, 60 do s = s .. s end`, tooLong},
		"concat under a metatable":    {`setmetatable(_G, {__index = function() return rawget end}) local s = "xxxxxxxx" for i = 1, 60 do s = s .. s end`, tooLong},
		"in a function in a function": {`local function f() return function(s) return s .. s end end local s = "xxxxxxxx" while true do s = f()(s) end`, tooLong},
		"in a table, as an argument":  {`local s = {v = "xxxxxxxx"} while true do s = {v = tostring(s.v .. s.v), [1 .. ""] = 2} end`, tooLong},
		"kept many times":             {`local t, s = {}, ("x"):rep(60000) for i = 1, 1e6 do t[i] = s .. i end`, luabox.ErrBytes},
		"rep":                         {`return ("x"):rep(1e9)`, tooLong},
		"rep of nothing":              {`return #(""):rep(1e9)`, tooLong},
		"a wide format":               {`return string.format("%900000d", 1)`, tooLong},
		"many wide formats":           {`return string.format(("%999d"):rep(100), unpack({}, 1, 100))`, tooLong},
		"an indexed format":           {`return string.format(("%[1]s"):rep(1000), ("x"):rep(10000))`, "not a Lua format"},
		"a starred format":            {`return string.format("%*d", 1e9, 1)`, "not a Lua format"},
		"a list of texts":             {`local t = {} for i = 1, 200 do t[i] = ("0123456789"):rep(40) end return table.concat(t)`, tooLong},
		"a separator":                 {`return table.concat({1, 2, 3}, ("x"):rep(40000))`, tooLong},
		"gsub by a text":              {`return string.gsub(("x"):rep(60000), "x", ("y"):rep(60000))`, tooLong},
		"gsub by itself":              {`return string.gsub(("x"):rep(60000), "^.*", ("%0"):rep(30000))`, tooLong},
		"gsub by a function":          {`local s = ("y"):rep(60000) return string.gsub(("x"):rep(6000), "x", function() return s end)`, tooLong},
		"gsub by a table":             {`return string.gsub(("x"):rep(6000), "x", {x = ("y"):rep(60000)})`, tooLong},
		"tables":                      {`local t = {} for i = 1, 1e6 do t[i] = {{}, {}, {}, {}, {}, {}, {}, {}, {}, {}} end`, luabox.ErrBytes},
		"lists full of holes":         {`local t = {} for i = 1, 1e6 do t[i] = {} t[i][65000] = 1 end`, luabox.ErrBytes},
		"one far hole":                {`local t = {} t[60000000] = 1 return #t`, nil},
		"upper case":                  {`local t, s = {}, ("x"):rep(65000) for i = 1, 1e6 do t[i] = s:upper() end`, luabox.ErrBytes},
		"matches":                     {`local t, s = {}, ("x"):rep(65000) for i = 1, 1e6 do t[i] = s:gmatch(".") end`, luabox.ErrBytes},
		"going back":                  {`return string.find(("a"):rep(3000), "a*a*a*a*b")`, "too costly"},
		"a loop":                      {`while true do end`, luabox.ErrSteps},
		"a loop in a handler":         {`while true do xpcall(function() while true do end end, function() while true do end end) end`, luabox.ErrSteps},
		"calls":                       {`local function f() return 1 + f() end return f()`, "overflow"},
		"values":                      {`return unpack({}, 1, 1e8)`, "overflow"},
		"the error itself":            {`error(("x"):rep(65000))`, "xxx"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := run(t, small(), test.source)
			runtime.ReadMemStats(&after)
			switch want := test.want.(type) {
			case nil:
				if err != nil {
					t.Error(err)
				}
			case error:
				if !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			case string:
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 64 {
				t.Errorf("it made %d MiB until it was stopped", used)
			}
		})
	}
}

func TestScriptsThatDoNotCompile(t *testing.T) {
	for name, source := range map[string]string{
		"no Lua":           "x = = 1",
		"too long":         strings.Repeat("-", 300<<10),
		"nested too deep":  "return " + strings.Repeat("{", 50_000) + strings.Repeat("}", 50_000),
		"negated too much": "return " + strings.Repeat("- ", 100_000) + "1",
		"too many locals":  strings.Repeat("local a ", 500),
	} {
		_, err := luabox.Compile("mine", source)
		var failed *luabox.Error
		if !errors.As(err, &failed) || !strings.Contains(err.Error(), "mine") && !strings.Contains(err.Error(), "line") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRunsShareTheirLimits and their globals.
func TestRunsShareTheirLimits(t *testing.T) {
	script, err := luabox.Compile("again", "n = (n or 0) + 1 for i = 1, 1000 do end return n")
	if err != nil {
		t.Fatal(err)
	}
	limits := small()
	limits.Steps = 50_000
	box := luabox.New(limits)
	defer box.Close()
	for n := 1; ; n++ {
		got, err := box.Run(script)
		if errors.Is(err, luabox.ErrSteps) && n > 10 {
			break
		}
		if err != nil || got.String() != fmt.Sprint(n) {
			t.Fatalf("run %d: %v %v", n, got, err)
		}
	}
	if _, err := box.Run(script); !errors.Is(err, luabox.ErrSteps) {
		t.Errorf("a box that is used up ran again: %v", err)
	}
}

func TestTimeEnds(t *testing.T) {
	limits := small()
	limits.Steps, limits.Time = 1<<60, 10*time.Millisecond
	if _, err := run(t, limits, "while true do end"); !errors.Is(err, luabox.ErrTime) {
		t.Error(err)
	}
}

// FuzzBox: no script ends the process, makes a text that is too long, or stays
// over its memory for long.
func FuzzBox(f *testing.F) {
	for _, seed := range []string{`local s = "x" while true do s = s .. s .. s end return s`, `return ("%d"):rep(9):format(1, 2, 3)`,
		`return (("abc"):gsub("(b)", "%1%0"))`, `local t = {} t[1 .. ""] = "a" .. #t return table.concat(t)`,
		`return setmetatable({}, {__concat = function(a, b) return b end}) .. "x"`, `return string.format("%-9.3s|%q|%x", "abc", "d", 255)`,
		`for a, b in ("k=v"):gmatch("(%w)=(%w)") do return b .. a end`} {
		f.Add(seed)
	}
	limits := small()
	limits.Steps, limits.Bytes = 20_000, 8<<20
	f.Fuzz(func(t *testing.T, source string) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := run(t, limits, source)
		runtime.ReadMemStats(&after)
		if text, ok := got.(lua.LString); err == nil && ok && len(text) > limits.Text+len(source) {
			t.Errorf("a text of %d bytes", len(text))
		}
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 128 {
			t.Errorf("it made %d MiB", used)
		}
	})
}

func BenchmarkSteps(b *testing.B) {
	script, err := luabox.Compile("bench", "local n = 0 for i = 1, 10000 do n = n + i end return n")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		box := luabox.New(small())
		if _, err := box.Run(script); err != nil {
			b.Fatal(err)
		}
		box.Close()
	}
}
