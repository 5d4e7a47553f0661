package helm

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/axle-cd/axle/internal/manifest"
)

// document is one document of a rendered text, with the number of lines above it.
type document struct {
	text  string
	above int
}

// documents splits a rendered text as Helm does: three dashes at the beginning of a line
// are a separator, whatever follows them, and blanks before a document are dropped. Helm
// adds one line end to each template's output.
func documents(text string) []document {
	var list []document
	line, start := 0, 0
	add := func(end int) {
		piece := text[start:end]
		kept := strings.TrimLeftFunc(piece, unicode.IsSpace)
		line += strings.Count(piece[:len(piece)-len(kept)], "\n")
		if kept != "" {
			list = append(list, document{kept + "\n", line})
		}
		line += strings.Count(kept, "\n")
	}
	for at := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace)); at >= 0; {
		if strings.HasPrefix(text[at:], separator) {
			add(at)
			start = at + len(separator)
		}
		next := strings.Index(text[at:], "\n"+separator)
		if next < 0 {
			break
		}
		at += next + 1
	}
	add(len(text))
	return list
}

// separator stands between documents.
const separator = "---"

// decode decodes the objects of one rendered text.
func decode(file, text string) (objects []manifest.Object, warnings []string, err error) {
	for _, d := range documents(text) {
		found, more, err := manifest.DecodeBelow(file, d.above, []byte(d.text))
		var bad *manifest.Error
		if errors.As(err, &bad) {
			bad.Message += " (the line is that of the rendered text)"
		}
		if err != nil {
			return nil, nil, err
		}
		objects, warnings = append(objects, found...), append(warnings, more...)
	}
	for i := range objects {
		objects[i].Line = 0 // the user does not have the rendered text
	}
	return objects, warnings, nil
}

// add adds one object to the result. Helm applies an object that is rendered twice
// twice: equal ones are merged here, and a CRD replaces that of a parent chart. A hook that
// has the name of an object is one object, see both. For others that differ, Helm applies
// one of them at random.
func (rel *release) add(result *Result, seen map[manifest.Key]int, object manifest.Object) error {
	key := object.Key(rel.Namespace)
	at, twice := seen[key]
	if !twice || key.Generated() {
		seen[key] = len(result.Objects)
		result.Objects = append(result.Objects, object)
		return nil
	}
	first := &result.Objects[at]
	switch {
	case reflect.DeepEqual(first.Data, object.Data):
		return nil
	case first.CRD && object.CRD:
		result.Warnings = append(result.Warnings, fmt.Sprintf("%s: %s is also in %s; as with Helm, this one counts", object.Source, key, first.Source))
		*first = object
		return nil
	case both(first, &object):
		result.Warnings = append(result.Warnings, fmt.Sprintf("%s: %s is a hook and an object of the chart; it is applied as the object, at the hook's moment", object.Source, key))
		return nil
	}
	return &manifest.Error{File: object.Source, Message: fmt.Sprintf(
		"%s is rendered twice, and differs from that of %s; a chart may render one object more than once only if it is equal", key, first.Source)}
}

const (
	helmHook   = "helm.sh/hook"
	helmWeight = "helm.sh/hook-weight"
	// phase and phaseWave order an object that is no run, as Plural's charts have them.
	phase     = "deployment.plural.sh/sync-hook"
	phaseWave = "deployment.plural.sh/sync-wave"
)

// both reports whether of two objects of one name one is a hook before an install or upgrade
// and the other is none, and makes the first the one that is none, applied where the hook
// would be. Helm makes the hook first and lets its policy delete it, such as an account for a
// Job, and then makes the object. What ends by itself is not made once for two.
func both(first, second *manifest.Object) bool {
	hook, object := first, second
	if first.Annotation(helmHook) == "" {
		hook, object = second, first
	}
	kind, _ := hook.Data["kind"].(string)
	switch before := hook.Annotation(helmHook); {
	case kind == "Job" || kind == "Pod", object.Annotation(helmHook) != "":
		return false
	case !strings.Contains(before, "pre-install") && !strings.Contains(before, "pre-upgrade"):
		return false
	}
	weight := hook.Annotation(helmWeight)
	*first = *object
	annotate(first, phase, "pre-sync")
	if _, own := first.LookupAnnotation(phaseWave); !own && weight != "" {
		annotate(first, phaseWave, weight)
	}
	return true
}

func annotate(o *manifest.Object, name, value string) {
	metadata, _ := o.Data["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	annotations[name] = value
}
