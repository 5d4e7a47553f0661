package helm

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"

	"github.com/axle-cd/axle/internal/manifest"
)

// document is one document of a rendered text, and how many lines of the text
// are above it.
type document struct {
	text  string
	above int
}

// documents splits a rendered text by Helm's own function, which takes three
// dashes at the beginning of a line for a marker whatever follows them, and
// leaves out blanks in front of a document. Helm hands each on with one line
// end more than the template wrote.
func documents(text string) []document {
	split := releaseutil.SplitManifests(text)
	var list []document
	from := 0
	for _, name := range slices.SortedFunc(maps.Keys(split), byNumber) {
		from += strings.Index(text[from:], split[name])
		list = append(list, document{split[name] + "\n", strings.Count(text[:from], "\n")})
		from += len(split[name])
	}
	return list
}

// byNumber compares names of Helm's, which end with a number.
func byNumber(a, b string) int {
	switch both := releaseutil.BySplitManifestsOrder([]string{a, b}); {
	case both.Less(0, 1):
		return -1
	case both.Less(1, 0):
		return 1
	}
	return 0
}

// decode reads the objects of one rendered text.
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
		objects[i].Line = 0 // nobody has the rendered text
	}
	return objects, warnings, nil
}

// add takes one object into the result. Helm applies an object that is rendered
// twice twice: equal ones are one, and a CRD replaces that of a chart above.
// Of others that differ Helm leaves it to chance which one stays.
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
	}
	return &manifest.Error{File: object.Source, Message: fmt.Sprintf(
		"%s is rendered twice, and differs from that of %s; a chart may render one object more than once only if it is equal", key, first.Source)}
}
