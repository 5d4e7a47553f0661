package specrules

import (
	"fmt"
	"slices"
	"strings"

	specv1 "github.com/axle-cd/axle/api/spec/v1"
	"github.com/axle-cd/axle/internal/rule"
)

// checkRenderer checks one render step.
func checkRenderer(at string, r specv1.Renderer) error {
	if r.Type != "" && !slices.Contains(rule.Renderers, r.Type) {
		return Field(at+".type", "%.80q does not exist; use %s", r.Type, strings.Join(rule.Renderers, ", "))
	}
	blocks := []struct {
		name, kind string
		set        bool
	}{
		{"helm", "HELM", r.Helm != nil}, {"jsonnet", "JSONNET", r.Jsonnet != nil}, {"cue", "CUE", r.Cue != nil},
		{"exec", "EXEC", r.Exec != nil}, {"wasm", "WASM", r.Wasm != nil},
	}
	for _, b := range blocks {
		detected := (r.Type == "" || r.Type == "AUTO") && b.kind != "EXEC" && b.kind != "WASM"
		if b.set && r.Type != b.kind && !detected {
			return Field(at+"."+b.name, "is for type %s", b.kind)
		}
	}
	if err := checkInside(at+".path", r.Path); err != nil {
		return err
	}
	if err := checkInside(at+".kustomizePostrender", r.KustomizePostrender); err != nil {
		return err
	}
	if err := checkHelm(at+".helm", r.Helm); err != nil {
		return err
	}
	if err := checkJsonnet(at+".jsonnet", r.Jsonnet); err != nil {
		return err
	}
	if r.Type == "EXEC" && (r.Exec == nil || !rule.Tool.Valid(r.Exec.Tool)) {
		return Field(at+".exec.tool", "must name a tool of the agent's, up to 63 letters, digits, dots and dashes")
	}
	if r.Type == "WASM" {
		return checkWasm(at+".wasm", r.Wasm)
	}
	return nil
}

func checkJsonnet(at string, j *specv1.Jsonnet) error {
	if j == nil {
		return nil
	}
	if err := checkInside(at+".file", j.File); err != nil {
		return err
	}
	if len(j.Libs) > maxItems {
		return Field(at+".libs", "lists more than %d", maxItems)
	}
	for i, lib := range j.Libs {
		if err := checkInside(fmt.Sprintf("%s.libs[%d]", at, i), lib); err != nil {
			return err
		}
	}
	for name, variables := range map[string][]specv1.JsonnetVariable{"tlas": j.TLAs, "extVars": j.ExtVars} {
		for i, v := range variables {
			if v.Name == "" {
				return Field(fmt.Sprintf("%s.%s[%d].name", at, name, i), "is needed")
			}
		}
	}
	return nil
}

func checkWasm(at string, w *specv1.Wasm) error {
	switch {
	case w == nil || (w.Module == "") == (w.Tool == ""):
		return Field(at, "needs module, a file of the service, or tool, a module of the agent's, and not both")
	case w.Tool != "" && !rule.Tool.Valid(w.Tool):
		return Field(at+".tool", "must name a tool of the agent's, up to 63 letters, digits, dots and dashes")
	}
	return checkInside(at+".module", w.Module)
}
