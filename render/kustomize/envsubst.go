package kustomize

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// variable matches ${NAME}, ${NAME:-default}, and $${…}, which is an escape.
var variable = regexp.MustCompile(`\$?\$\{([A-Za-z_][A-Za-z0-9_]*)(?:(:-|-|:=)([^}]*))?\}`)

var (
	whole = regexp.MustCompile(`^\$\{[^}]*\}$`)
	plain = regexp.MustCompile(`^(?:-?(?:0|[1-9]\d{0,17})|true|false)$`)
)

// texts are the fields whose values are always strings.
var texts = map[string]bool{
	"data": true, "stringData": true, "labels": true, "matchLabels": true, "annotations": true,
	"nodeSelector": true, "value": true, "command": true, "args": true,
}

// substitution replaces variables in the strings of an object by the service's
// configuration: a value cannot change the object's structure. A string that consists
// of one variable becomes a number or a boolean if it parses as one, except where
// Kubernetes requires a string.
type substitution struct {
	variables map[string]string
	missing   string
}

// apply replaces variables in an object. A variable without a value and without a
// default is an error, because an empty string in its place could be applied
// unnoticed.
func (s *substitution) apply(data map[string]any) (map[string]any, error) {
	out, _ := s.value(data, false).(map[string]any)
	if s.missing != "" {
		return nil, fmt.Errorf("the variable %s is not in the service's configuration; set it, or give a default: ${%s:-value}", s.missing, s.missing)
	}
	return out, nil
}

// unsubstituted reports whether an object's label or annotation of Flux forbids the
// substitution, as for scripts whose own variables look the same.
func unsubstituted(data map[string]any) bool {
	metadata, _ := data["metadata"].(map[string]any)
	for _, of := range []string{"labels", "annotations"} {
		marks, _ := metadata[of].(map[string]any)
		if value, _ := marks["kustomize.toolkit.fluxcd.io/substitute"].(string); strings.EqualFold(value, "disabled") {
			return true
		}
	}
	return false
}

func (s *substitution) value(v any, text bool) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[s.text(key)] = s.value(item, text || texts[key])
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = s.value(item, text)
		}
		return out
	case string:
		replaced := s.text(v)
		if text || !whole.MatchString(v) || !plain.MatchString(replaced) {
			return replaced
		}
		if replaced == "true" || replaced == "false" {
			return replaced == "true"
		}
		return json.Number(replaced)
	}
	return v
}

func (s *substitution) text(text string) string {
	return variable.ReplaceAllStringFunc(text, func(match string) string {
		if match[1] == '$' {
			return match[1:]
		}
		parts := variable.FindStringSubmatch(match)
		name, operator, otherwise := parts[1], parts[2], parts[3]
		value, set := s.variables[name]
		switch {
		case operator != "" && (!set || (value == "" && operator != "-")):
			return otherwise
		case !set && s.missing == "":
			s.missing = name
		}
		return value
	})
}
