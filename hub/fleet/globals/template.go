package globals

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/cost"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/liquid"
)

// fields calls fn with a pointer to each field of a spec in which Liquid acts, and
// its name. The list is that of docs/global-services.md.
func fields(s *fleet.Spec, fn func(at string, text *string) error) error {
	var errs []error
	see := func(at string, text *string) { errs = append(errs, fn(at, text)) }
	git := func(at string, g *fleet.Git) {
		if g != nil {
			see(at+".ref", &g.Ref)
			see(at+".folder", &g.Folder)
		}
	}
	git("git", s.Git)
	for i := range s.Sources {
		git(fmt.Sprintf("sources[%d].git", i), s.Sources[i].Git)
	}
	if h := s.Helm; h != nil {
		see("helm.version", &h.Version)
		see("helm.chart", &h.Chart)
		see("helm.luaScript", &h.LuaScript)
		for i := range h.ValuesFiles {
			see(fmt.Sprintf("helm.valuesFiles[%d]", i), &h.ValuesFiles[i])
		}
	}
	for i := range s.Contexts {
		see(fmt.Sprintf("contexts[%d]", i), &s.Contexts[i])
	}
	return errors.Join(errs...)
}

func isLiquid(text string) bool { return strings.Contains(text, "{{") || strings.Contains(text, "{%") }

// hasLiquid reports whether targets differ from their template.
func hasLiquid(s fleet.Spec) bool {
	found := false
	_ = fields(&s, func(_ string, text *string) error {
		found = found || isLiquid(*text)
		return nil
	})
	return found
}

// copyOf copies a spec with all that fields changes.
func copyOf(s fleet.Spec) (out fleet.Spec, err error) {
	text, err := json.Marshal(s)
	if err != nil {
		return out, fmt.Errorf("copy a template: %w", err)
	}
	return out, json.Unmarshal(text, &out)
}

// sample is a template with a name in place of each field that has Liquid, to
// check everything else of it, and whether its Liquid can be read. Contexts with
// Liquid are left out: which ones exist is known for each cluster.
func sample(s fleet.Spec) (fleet.Spec, error) {
	out, err := copyOf(s)
	if err != nil {
		return out, err
	}
	engine := liquid.New(map[string]any{}, time.Time{}).Limit(limits)
	err = fields(&out, func(at string, text *string) error {
		if !isLiquid(*text) {
			return nil
		}
		err := engine.Check([]byte(*text))
		if strings.Count(*text, "{{") != strings.Count(*text, "}}") || strings.Count(*text, "{%") != strings.Count(*text, "%}") {
			err = errors.New("a {{ or {% is not closed")
		}
		if err != nil {
			return errcode.New(errcode.Invalid, "template.%s: %w", at, err)
		}
		*text = "0"
		return nil
	})
	out.Contexts = plainContexts(s)
	return out, err
}

// plainContexts are the contexts of a template that are the same on all clusters.
func plainContexts(s fleet.Spec) (all []string) {
	for _, name := range s.Contexts {
		if name != "" && !isLiquid(name) {
			all = append(all, name)
		}
	}
	return all
}

// limits bound the Liquid of all fields on one cluster: the hub renders it for each
// cluster, beside its other work.
var limits = liquid.Limits{Steps: cost.Budget, Bytes: 64 << 10, Repeatable: true}

// output matches one output of Liquid.
var output = regexp.MustCompile(`\{\{.*?\}\}`)

// render renders a field. An output that is empty is an error, because a folder or a
// version without it is another one: a cluster that lacks a tag must not get the
// parent folder.
func render(engine *liquid.Engine, text string) (string, error) {
	if !strings.Contains(text, "{%") {
		for _, one := range output.FindAllString(text, -1) {
			if rendered, err := engine.Render([]byte(one)); err == nil && len(rendered) == 0 {
				return "", fmt.Errorf("%.100s is empty on this cluster; give the cluster the tag or the metadata, or use the filter default", one)
			}
		}
	}
	rendered, err := engine.Render([]byte(text))
	if err == nil && len(bytes.TrimSpace(rendered)) == 0 {
		err = errors.New("the result is empty on this cluster")
	}
	return string(rendered), err
}

// object decodes a JSON object; empty text is an empty one.
func object(text string) (map[string]any, error) {
	out := map[string]any{}
	if text == "" {
		return out, nil
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil || out == nil {
		return nil, errcode.New(errcode.Invalid, "context: must be a JSON object")
	}
	return out, nil
}
