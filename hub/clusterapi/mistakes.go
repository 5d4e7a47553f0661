package clusterapi

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

var english = message.NewPrinter(language.English)

// mistakesIn names each variable that a schema refuses, with why.
func mistakesIn(e *jsonschema.ValidationError, values any) (all []string) {
	add := func(at []string, why string) {
		all = append(all, strings.Join(append([]string{"variables"}, at...), ".")+": "+why)
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference: // only that something in it is wrong
	case *kind.PropertyNames:
		why := k.LocalizedString(english)
		for _, cause := range e.Causes {
			why += ": " + cause.ErrorKind.LocalizedString(english)
		}
		_, pointer, _ := strings.Cut(e.SchemaURL, "#/")
		add(misnamed(values, strings.Split(pointer, "/"), k.Property), why)
		return all
	default:
		add(e.InstanceLocation, k.LocalizedString(english))
	}
	for _, cause := range e.Causes {
		all = append(all, mistakesIn(cause, values)...)
	}
	return all
}

// misnamed returns where an object is that has a property whose name its schema refuses, by the
// schema's place in the document: in such an error, the library's location is what the
// validator looked at last. Empty for one that the place does not lead to.
func misnamed(value any, pointer []string, property string) []string {
	switch {
	case pointer[0] == "propertyNames":
		object, _ := value.(map[string]any)
		if _, has := object[property]; has {
			return []string{}
		}
	case pointer[0] == "properties" && len(pointer) > 2:
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(pointer[1])
		if object, _ := value.(map[string]any); object[name] != nil {
			return below(name, misnamed(object[name], pointer[2:], property))
		}
	case pointer[0] == "items" && len(pointer) > 1:
		items, _ := value.([]any)
		for i, item := range items {
			if at := below(strconv.Itoa(i), misnamed(item, pointer[1:], property)); at != nil {
				return at
			}
		}
	case pointer[0] == "additionalProperties" && len(pointer) > 1:
		object, _ := value.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(object)) {
			if at := below(name, misnamed(object[name], pointer[1:], property)); at != nil {
				return at
			}
		}
	}
	return nil
}

// below puts a name before a place, unless there is none.
func below(name string, at []string) []string {
	if at == nil {
		return nil
	}
	return append([]string{name}, at...)
}
