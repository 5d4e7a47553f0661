package cue_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/tree"
	"github.com/axle-cd/axle/render/cue"
)

const module = "module: \"example.test/shop@v0\"\nlanguage: version: \"v0.12.0\"\n"

const object = `{apiVersion: "v1", kind: "ConfigMap", metadata: name: "a", data: "x": x}`

func request(t *testing.T, files map[string]string) cue.Request {
	t.Helper()
	sealed := tree.New()
	for name, text := range files {
		if err := sealed.Add(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := sealed.Seal(); err != nil {
		t.Fatal(err)
	}
	return cue.Request{Tree: sealed, Dir: "shop/web", Configuration: map[string]string{"color": "green", "size": "3", "unused": "y"}}
}

func TestRender(t *testing.T) {
	tests := map[string]struct {
		files  map[string]string
		change func(*cue.Request)
		want   string
		fail   string
	}{
		"configuration":        {files: map[string]string{"a.cue": "package web\nx: string @tag(color)\no: " + object}, want: "green"},
		"a number":             {files: map[string]string{"a.cue": "package web\nn: int @tag(size,type=int)\nx: \"\\(n+1)\"\no: " + object}, want: "4"},
		"tag wins":             {files: map[string]string{"a.cue": "package web\nx: string @tag(color)\no: " + object}, change: func(r *cue.Request) { r.Tags = map[string]string{"color": "red"} }, want: "red"},
		"unknown tag":          {files: map[string]string{"a.cue": "package web\nx: \"a\"\no: " + object}, change: func(r *cue.Request) { r.Tags = map[string]string{"colour": "red"} }, fail: `no tag for "colour"`},
		"tag of another":       {files: map[string]string{"a.cue": "package web\nx: \"a\"\no: " + object, "b.cue": "package other\ny: string @tag(color)"}, change: func(r *cue.Request) { r.Package = "web" }, want: "a"},
		"a folder above":       {files: map[string]string{"../up.cue": "package web\nx: \"up\"", "a.cue": "package web\nx: string\no: " + object}, want: "up"},
		"an import":            {files: map[string]string{"../lib/l.cue": "package lib\nX: \"lib\"", "a.cue": "package web\nimport \"example.test/shop/lib\"\nx: lib.X\no: " + object}, want: "lib"},
		"the library":          {files: map[string]string{"a.cue": "package web\nimport \"strings\"\nx: strings.ToUpper(\"a\")\no: " + object}, want: "A"},
		"expression":           {files: map[string]string{"a.cue": "package web\nx: \"e\"\nfirst: " + object + "\nsecond: {apiVersion: \"v1\", kind: \"Secret\", metadata: name: \"b\"}"}, change: func(r *cue.Request) { r.Expression = "[first]" }, want: "e"},
		"without a package":    {files: map[string]string{"a.cue": "x: \"loose\"\no: " + object}, want: "loose"},
		"two packages":         {files: map[string]string{"a.cue": "package a", "b.cue": "package b"}, fail: "shop/web: the folder holds the packages a, b; name one by cue.package"},
		"no such package":      {files: map[string]string{"a.cue": "package a"}, change: func(r *cue.Request) { r.Package = "c" }, fail: `has no package "c"`},
		"a module to fetch":    {files: map[string]string{"a.cue": "package web\nimport \"example.org/far@v1\"\no: far"}, fail: "shop/web/a.cue:2: "},
		"syntax":               {files: map[string]string{"a.cue": "package web\nx: {\n  a: \n}\n"}, fail: "shop/web/a.cue:"},
		"conflict":             {files: map[string]string{"a.cue": "package web\nx: 1\nx: 2\n"}, fail: "shop/web/a.cue:"},
		"not concrete":         {files: map[string]string{"a.cue": "package web\nx: string\no: " + object}, fail: "o.data.x: incomplete value string"},
		"of no name":           {files: map[string]string{"a.cue": "package web\no: {apiVersion: \"v1\", kind: \"ConfigMap\"}"}, fail: "shop/web/a.cue:2: the ConfigMap needs metadata.name"},
		"a broken expression":  {files: map[string]string{"a.cue": "package web"}, change: func(r *cue.Request) { r.Expression = "a b" }, fail: "cue.expression"},
		"an expression of air": {files: map[string]string{"a.cue": "package web"}, change: func(r *cue.Request) { r.Expression = "none" }, fail: "cue.expression"},
		"nothing":              {files: map[string]string{"a.txt": ""}, fail: "no *.cue file"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"shop/cue.mod/module.cue": module}
			for name, text := range test.files {
				if rest, up := strings.CutPrefix(name, "../"); up {
					files["shop/"+rest] = text
					continue
				}
				files["shop/web/"+name] = text
			}
			r := request(t, files)
			if test.change != nil {
				test.change(&r)
			}
			objects, err := cue.Render(r)
			if test.fail != "" {
				if err == nil || !strings.Contains(err.Error(), test.fail) {
					t.Errorf("got %v, want ...%s...", err, test.fail)
				}
				return
			}
			if err != nil || len(objects) != 1 {
				t.Fatal(objects, err)
			}
			if got := objects[0].Data["data"].(map[string]any)["x"]; got != test.want {
				t.Errorf("got %v, want %s", got, test.want)
			}
			if objects[0].Source != "shop/web/a.cue" {
				t.Errorf("the object is said to come from %s", objects[0].Source)
			}
		})
	}
}
