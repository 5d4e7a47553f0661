package jsonnet_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/tree"
	"github.com/axle-cd/axle/render/jsonnet"
)

const object = "{apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'a'}, data: {x: x}}"

func request(t *testing.T, files map[string]string) jsonnet.Request {
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
	return jsonnet.Request{
		Tree: sealed, Dir: "app/web", Roots: []string{"app", "."},
		Bindings: map[string]any{"configuration": map[string]any{"color": "green"}, "cluster": map[string]any{"name": "one"}},
	}
}

func TestWhereThingsAreFound(t *testing.T) {
	base := map[string]string{
		"app/web/near.libsonnet": "'near'", "app/up.libsonnet": "'up'", "app/lib/a.libsonnet": "'lib'", "vendor/b/v.libsonnet": "import 'w.libsonnet'",
		"vendor/b/w.libsonnet": "'vendored'", "shared/s.libsonnet": "'shared'", "app/web/text.txt": "text",
		"app/web/lib/twice.libsonnet": "'of the folder'", "app/lib/twice.libsonnet": "'of the service'",
	}
	tests := map[string]struct {
		text   string
		change func(*jsonnet.Request)
		want   string
		fail   string
	}{
		"beside":           {text: "local x = import 'near.libsonnet'; " + object, want: "near"},
		"above":            {text: "local x = import '../up.libsonnet'; " + object, want: "up"},
		"lib":              {text: "local x = import 'a.libsonnet'; " + object, want: "lib"},
		"nearest lib":      {text: "local x = import 'twice.libsonnet'; " + object, want: "of the folder"},
		"vendor":           {text: "local x = import 'b/v.libsonnet'; " + object, want: "vendored"},
		"named lib":        {text: "local x = import 's.libsonnet'; " + object, change: func(r *jsonnet.Request) { r.Libs = []string{"shared"} }, want: "shared"},
		"text":             {text: "local x = importstr 'text.txt'; " + object, want: "text"},
		"binding":          {text: "local x = std.extVar('configuration').color + std.extVar('cluster').name; " + object, want: "greenone"},
		"variable":         {text: "local x = std.extVar('v'); " + object, change: func(r *jsonnet.Request) { r.ExtVars = []jsonnet.Variable{{Name: "v", Value: "1 + 1"}} }, want: "1 + 1"},
		"code":             {text: "local x = std.toString(std.extVar('v')); " + object, change: func(r *jsonnet.Request) { r.ExtVars = []jsonnet.Variable{{Name: "v", Value: "1 + 1", Code: true}} }, want: "2"},
		"variable wins":    {text: "local x = std.extVar('cluster'); " + object, change: func(r *jsonnet.Request) { r.ExtVars = []jsonnet.Variable{{Name: "cluster", Value: "mine"}} }, want: "mine"},
		"argument":         {text: "function(x='default', y=1) " + object, change: func(r *jsonnet.Request) { r.TLAs = []jsonnet.Variable{{Name: "x", Value: "given"}} }, want: "given"},
		"other file":       {text: "error 'not this'", change: func(r *jsonnet.Request) { r.File = "other.jsonnet" }, want: "other"},
		"outside":          {text: "local x = import '../../../etc/passwd'; " + object, fail: "app/web/main.jsonnet:1: the import \"../../../etc/passwd\" is outside"},
		"absolute":         {text: "local x = importstr '/etc/passwd'; " + object, fail: "app/web/main.jsonnet:1: the import \"/etc/passwd\" is outside"},
		"missing":          {text: "local x =\n  import 'none'; " + object, fail: "app/web/main.jsonnet:2: the import \"none\" does not exist"},
		"error":            {text: "{\n  a: error 'on purpose',\n}", fail: "app/web/main.jsonnet:2: on purpose"},
		"error of a call":  {text: "local f(n) = std.parseInt(n);\n[\n  f('x'),\n]", fail: "app/web/main.jsonnet:1: x is not a base 10 integer"},
		"syntax":           {text: "{\n  a: 1\n  b: 2\n}", fail: "app/web/main.jsonnet:3: "},
		"no object":        {text: "{\n  a: 'text',\n}", fail: "app/web/main.jsonnet: expected an object or a list of objects, got a text (at .a of the output)"},
		"missing argument": {text: "function(x) " + object, fail: "Missing argument: x"},
		"missing file":     {text: "[]", change: func(r *jsonnet.Request) { r.File = "none.jsonnet" }, fail: "app/web/none.jsonnet: the file does not exist"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"app/web/main.jsonnet": test.text, "app/web/other.jsonnet": "local x = 'other'; " + object}
			for name, text := range base {
				files[name] = text
			}
			r := request(t, files)
			if test.change != nil {
				test.change(&r)
			}
			objects, _, err := jsonnet.Render(r)
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
		})
	}
}

func TestEveryFileWithoutAMain(t *testing.T) {
	r := request(t, map[string]string{
		"app/web/b.jsonnet": "local x = std.trace('seen', 'b'); " + object, "app/web/a.jsonnet": "[]", "app/web/deep/c.jsonnet": "error 'not read'", "app/web/d.libsonnet": "error 'not read'",
	})
	objects, warnings, err := jsonnet.Render(r)
	if err != nil || len(objects) != 1 {
		t.Fatal(objects, err)
	}
	if diff := cmp.Diff([]string{"TRACE: /app/web/b.jsonnet:1 seen"}, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	var bad *manifest.Error
	if _, _, err := jsonnet.Render(request(t, map[string]string{"app/web/x": ""})); !errors.As(err, &bad) || bad.File != "app/web" {
		t.Errorf("got %v, want the folder named", err)
	}
}
