package render_test

import (
	"os"
	"testing"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/render/rendertest"
)

// TestRareContract runs the contract for the renderers that few services use.
func TestRareContract(t *testing.T) {
	for name, fixture := range rareFixtures(t) {
		t.Run(name, func(t *testing.T) { rendertest.Contract(t, fixture) })
	}
}

func rareFixtures(t *testing.T) map[string]rendertest.Fixture {
	t.Helper()
	jsonnet := rendertest.Files{
		"main.jsonnet": `local web = import 'web.libsonnet';
local configuration = std.extVar('configuration');
[
  web.settings('info'),
  { b: web.deployment, a: web.colored(configuration.color) },
  [],
]
`,
		"web.libsonnet": `{
  settings(level):: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data: { level: level } },
  colored(color):: $.settings('x') { metadata+: { name: std.extVar('cluster').name }, data: { color: color } },
  deployment:: std.parseYaml(importstr 'web.yaml'),
}
`,
		"web.yaml":  deployment,
		"notes.txt": "not read",
	}.In("app")
	cue := rendertest.Files{
		"cue.mod/module.cue": "module: \"example.test/app@v0\"\nlanguage: version: \"v0.12.0\"\n",
		"main.cue": `package app

import "example.test/app/base"

color: string @tag(color)
objects: {
	settings: base.#Map & {metadata: name: "settings", data: level: "info"}
	colored: base.#Map & {metadata: name: "colored", data: "color": color}
}
_hidden: base.#Map & {metadata: name: "hidden"}
#Definition: base.#Map
`,
		"more.cue":      "package app\n\nlist: [objects.settings & {metadata: name: \"settings\"}, {apiVersion: \"apps/v1\", kind: \"Deployment\", metadata: name: \"web\"}][1:]\n",
		"base/base.cue": "package base\n\n#Map: {\n\tapiVersion: \"v1\"\n\tkind: \"ConfigMap\"\n\tmetadata: name: string\n\tdata: [string]: string\n}\n",
	}.In("app")
	printed := rendertest.Files{"a.yaml": configMap, "b.yaml": deployment, "README.md": "x"}.In("app")
	tool := rendertest.Printer(t, "")
	module, err := os.ReadFile(rendertest.Printer(t, "wasip1/wasm"))
	if err != nil {
		t.Fatal(err)
	}
	fixtures := map[string]rendertest.Fixture{
		"jsonnet": {
			Type: "JSONNET", Good: jsonnet, Rare: true,
			Objects: []string{"ConfigMap settings", "ConfigMap one", "Deployment web"},
			Other: jsonnet.With("app/main.jsonnet",
				"local l = import 'web.libsonnet'; std.trace('seen', l.colored(std.extVar('configuration').only)) + {metadata+: {name: 'other', namespace: std.toString(std.length(std.extVar('service')))}}"),
			Invalid: jsonnet.With("app/web.libsonnet", "{\n  settings(level):: 1,\n  deployment:: 2\n  colored(color):: 3,\n}\n"),
			File:    "app/web.libsonnet", Line: 4, Manifest: "app/web.yaml",
			Twice: jsonnet.With("app/main.jsonnet", "local w = import 'web.libsonnet'; [w.settings('a'), w.settings('b')]"),
		},
		"cue": {
			Type: "CUE", Good: cue, Rare: true,
			Objects: []string{"Deployment web", "ConfigMap settings", "ConfigMap colored"},
			Other:   cue.With("app/main.cue", "package app\n\nimport \"example.test/app/base\"\n\nonly: string @tag(only)\nobjects: settings: base.#Map & {metadata: name: only}\n"),
			Invalid: cue.With("app/more.cue", "package app\n\nlist: [\n\tobjects.settings & {metadata: name: nowhere},\n]\n"),
			File:    "app/more.cue", Line: 4, Manifest: "app/base/base.cue",
			Twice: cue.With("app/more.cue", "package app\n\nagain: objects.settings\n"),
		},
		"exec": {
			Type: "EXEC", Good: printed, Tool: []string{tool},
			Step:    &renderv1.Step{Exec: &renderv1.Exec{Tool: "printer"}},
			Objects: []string{"ConfigMap settings", "Deployment web", "ConfigMap web"},
			Other:   rendertest.Files{"z.yaml": deployment}.In("app"),
			Invalid: printed.With("app/a.yaml", invalid),
			File:    "app/a.yaml", Line: 4, Manifest: "app/a.yaml",
			Twice: printed.With("app/c.yaml", deployment),
		},
	}
	wasm := fixtures["exec"]
	wasm.Type, wasm.Rare, wasm.Tool = "WASM", true, nil
	wasm.Step = &renderv1.Step{Wasm: &renderv1.Wasm{Module: "printer.wasm"}}
	for _, files := range []*rendertest.Files{&wasm.Good, &wasm.Other, &wasm.Invalid, &wasm.Twice} {
		*files = files.With("app/printer.wasm", string(module))
	}
	fixtures["wasm"] = wasm
	return fixtures
}
