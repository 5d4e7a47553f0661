package kustomize

import (
	"fmt"
	"regexp"
)

// variable is ${NAME}, ${NAME:-default}, or $${…}, which stands for itself.
var variable = regexp.MustCompile(`\$?\$\{([A-Za-z_][A-Za-z0-9_]*)(?:(:-|-|:=)([^}]*))?\}`)

// substitute replaces variables by the service's configuration. A variable
// that is not set and has no default is an error: an empty text in its place
// would be applied without anybody noticing.
func substitute(text []byte, variables map[string]string) ([]byte, error) {
	var missing string
	out := variable.ReplaceAllFunc(text, func(match []byte) []byte {
		if match[1] == '$' {
			return match[1:]
		}
		parts := variable.FindSubmatch(match)
		name, operator := string(parts[1]), string(parts[2])
		value, set := variables[name]
		if !set || (value == "" && operator != "-") {
			if operator != "" {
				return parts[3]
			}
		}
		if !set && missing == "" {
			missing = name
		}
		return []byte(value)
	})
	if missing != "" {
		return nil, fmt.Errorf("the variable %s is not in the service's configuration; set it, or give a default: ${%s:-value}", missing, missing)
	}
	return out, nil
}
