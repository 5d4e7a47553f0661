package helm_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/render/helm"
)

// scripted is a chart that writes all its values into one object.
func scripted(t *testing.T, more map[string]string) helm.Request {
	t.Helper()
	files := map[string]string{"templates/a.yaml": settings + "  v: {{ toJson .Values | quote }}\n"}
	for name, text := range more {
		files[name] = text
	}
	return templated(t, files)
}

func TestLuaMakesValues(t *testing.T) {
	files := map[string]string{
		"data.yaml":  "a: [1]\nm: {x: 1}\nnone: []\n",
		"lua/2.lua":  "values.from = values.from .. '2'\n",
		"lua/1.lua":  "values.from = '1'\nfunction double(n) return 2 * n end\n",
		"lua/no.txt": "error('not a script')",
		"one.lua":    "values.from = values.from .. 'file'\n",
		"extra.yaml": "extra: yes\nfrom: low\n",
	}
	tests := map[string]struct {
		lua  helm.Lua
		want string
	}{
		"script":     {helm.Lua{Script: "values = {n = 1, f = 1.5, list = {'a', 'b'}, map = {}, yes = true}"}, `{"f":1.5,"list":["a","b"],"map":{},"n":1,"yes":true}`},
		"all":        {helm.Lua{Folder: "lua", File: "one.lua", Script: "values.n = double(2)"}, `{"from":"12file","n":4}`},
		"bindings":   {helm.Lua{Script: "values.c = configuration.color .. cluster.name .. Cluster.Name"}, `{"c":"greenoneone"}`},
		"files":      {helm.Lua{Script: "valuesFiles = {'extra.yaml'}\nvalues.from = 'script'"}, `{"extra":true,"from":"script"}`},
		"read":       {helm.Lua{Script: "values = encoding.yamlDecode(fs.read('data.yaml'))"}, `{"a":[1],"m":{"x":1},"none":[]}`},
		"walk":       {helm.Lua{Script: "values.files = fs.walk('lua')"}, `{"files":["lua/1.lua","lua/2.lua","lua/no.txt"]}`},
		"no file":    {helm.Lua{Script: "local _, err = fs.read('../../etc/passwd')\nvalues.err = err"}, `{"err":"../../etc/passwd: there is no such file in the service"}`},
		"json":       {helm.Lua{Script: "values.j = encoding.jsonEncode(encoding.jsonDecode('{\"b\": [1]}'))"}, `{"j":"{\"b\":[1]}"}`},
		"merge":      {helm.Lua{Script: "values = utils.merge({a = {1}, m = {x = 1}}, {a = {2}, m = {y = 2}})"}, `{"a":[2],"m":{"x":1,"y":2}}`},
		"append":     {helm.Lua{Script: "values = utils.merge({a = {1}}, {a = {2}}, 'append')"}, `{"a":[1,2]}`},
		"far index":  {helm.Lua{Script: "t = {} t[60000000] = 1\nvalues.n = #t"}, `{"n":0}`},
		"paths":      {helm.Lua{Script: "values = {p = utils.pathJoin({'a', 'b'}), s = utils.splitString('a,b', ',')}"}, `{"p":"a/b","s":["a","b"]}`},
		"no machine": {helm.Lua{Script: "values = {n = tostring(io) .. tostring(os) .. tostring(require) .. tostring(math.random) .. tostring(dofile)}"}, `{"n":"nilnilnilnilnil"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := scripted(t, files)
			r.Lua = test.lua
			result, err := helm.Render(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, data(t, result)["v"]); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLuaPrecedence: files that scripts name come after the service's own,
// inline values after those, and what scripts make after all.
func TestLuaPrecedence(t *testing.T) {
	r := scripted(t, map[string]string{"own.yaml": "a: own\nb: own\nc: own\nd: own\n", "made.yaml": "b: made\nc: made\nd: made\n"})
	r.ValuesFiles, r.Values = []string{"own.yaml"}, "c: inline\nd: inline\n"
	r.Lua.Script = "valuesFiles = {'made.yaml'}\nvalues.d = 'lua'"
	result, err := helm.Render(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"a":"own","b":"made","c":"inline","d":"lua"}`, data(t, result)["v"]); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestBadLua(t *testing.T) {
	const inline = "the service's helm.luaScript"
	tests := map[string]struct {
		lua        helm.Lua
		file, want string
		line       int
	}{
		"syntax":         {helm.Lua{Script: "x = 1\ny = = 2"}, inline, "", 2},
		"error":          {helm.Lua{Script: "\n\nerror('set the color')"}, inline, "set the color", 3},
		"in a file":      {helm.Lua{File: "bad.lua"}, "bad.lua", "attempt to", 2},
		"no file":        {helm.Lua{File: "none.lua"}, "none.lua", "does not exist", 0},
		"no folder":      {helm.Lua{Folder: "none"}, "none", "does not exist", 0},
		"outside":        {helm.Lua{File: "../../etc/passwd"}, "../../etc/passwd", "does not exist", 0},
		"endless":        {helm.Lua{Script: "while true do end"}, inline, "million steps", 0},
		"endless caught": {helm.Lua{Script: "while true do pcall(function() while true do end end) end"}, inline, "million steps", 0},
		"deep":           {helm.Lua{Script: "function f() return 1 + f() end f()"}, inline, "stack overflow", 1},
		"huge text":      {helm.Lua{Script: "x = string.rep('x', 1000000000)"}, inline, "more than 8388608 bytes", 1},
		"huge width":     {helm.Lua{Script: "x = string.format('%1000000000d', 1)"}, inline, "width", 1},
		"huge table":     {helm.Lua{Script: "t = {} s = string.rep('x', 1000000)\nfor i = 1, 1000000 do t[i] = s .. i end"}, inline, "MiB of memory", 0},
		"doubled":        {helm.Lua{Script: "s = 'xxxxxxxx'\nfor i = 1, 60 do s = s .. s end"}, inline, "too long", 2},
		"shared":         {helm.Lua{Script: "t = {}\nfor i = 1, 60 do t = {t, t} end values.t = t"}, inline, "more than 1000000 values", 0},
		"itself":         {helm.Lua{Script: "values.v = values"}, inline, "contain themselves", 0},
		"function":       {helm.Lua{Script: "values.f = print or pairs"}, inline, "a function cannot be converted to a value", 0},
		"list":           {helm.Lua{Script: "values = {1, 2}"}, inline, "is a list", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := scripted(t, map[string]string{"bad.lua": "x = 1\ny = nope.x\n"})
			r.Lua = test.lua
			_, err := helm.Render(t.Context(), r)
			var bad *manifest.Error
			if !errors.As(err, &bad) || bad.File != test.file || bad.Line != test.line || !strings.Contains(bad.Message, test.want) {
				t.Errorf("got %+v, want %s:%d: ...%s...", bad, test.file, test.line, test.want)
			}
		})
	}
}
