package helm

import (
	"bytes"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// traces is what the templates of a chart did while they ran, so that a second render can
// leave out those whose output cannot differ: those that called no generating function and
// changed nothing that others see. Who did either is each template that ran at that moment,
// including those that include one by the name of its file.
type traces struct {
	running []string
	// generated and changed are the templates that called a generating function, and that
	// changed a map which another one may see.
	generated, changed map[string]bool
	// generates is set when a generating function was called.
	generates bool
	// own are the maps that the template which the engine runs has made: nobody else has
	// them, since giving one to others is a change. unsure is set for what no template did.
	own    map[uintptr]bool
	unsure bool
}

func newTraces() *traces {
	return &traces{generated: map[string]bool{}, changed: map[string]bool{}, own: map[uintptr]bool{}}
}

func (t *traces) note(in map[string]bool) {
	t.unsure = t.unsure || len(t.running) == 0
	for _, name := range t.running {
		in[name] = true
	}
}

// again reports whether a second render may leave out templates. If one generates and
// changes what others see, all may differ.
func (t *traces) again() bool {
	both := func(name string) bool { return t.changed[name] }
	return !t.unsure && !slices.ContainsFunc(slices.Collect(maps.Keys(t.generated)), both)
}

// The functions that mark where the template of a file begins and ends. A chart that calls
// them is told that there are no such functions: without them it is rendered once more.
const (
	beginsFile = "axleFileBegins"
	endsFile   = "axleFileEnds"
)

// The functions that change what they are given: a map, or the order of a list of texts. And
// those that make a map or such a list. What Helm's own functions make is not known here:
// changing that counts as changing what others see, which costs time and is never wrong.
var (
	changing = []string{"set", "unset", "merge", "mustMerge", "mergeOverwrite", "mustMergeOverwrite", "sortAlpha"}
	making   = []string{"dict", "pick", "omit", "keys", "splitList", "sortAlpha"}
)

// noticed are the functions of which a call is noticed.
var noticed = sync.OnceValue(func() template.FuncMap {
	some := template.FuncMap{}
	for name, function := range sprig.TxtFuncMap() {
		if generator([]byte(name)) || slices.Contains(orders, name) || slices.Contains(changing, name) || slices.Contains(making, name) {
			some[name] = function
		}
	}
	return some
})

// functions are those of the marks, and those whose calls are noticed.
func (t *traces) functions() template.FuncMap {
	functions := template.FuncMap{
		beginsFile: func(name string) string {
			if len(t.running) == 0 {
				clear(t.own)
			}
			t.running = append(t.running, name)
			return ""
		},
		endsFile: func() string {
			t.running = t.running[:max(len(t.running)-1, 0)]
			return ""
		},
	}
	for name, function := range noticed() {
		f := reflect.ValueOf(function)
		ordered, generates := slices.Contains(orders, name), generator([]byte(name))
		changes, makes := slices.Contains(changing, name), slices.Contains(making, name)
		functions[name] = reflect.MakeFunc(f.Type(), func(given []reflect.Value) (out []reflect.Value) {
			if generates || ordered && slices.ContainsFunc(given, several) {
				t.generates = true
				t.note(t.generated)
			}
			if changes && !t.owns(given[0]) {
				t.note(t.changed)
			}
			if f.Type().IsVariadic() {
				out = f.CallSlice(given)
			} else {
				out = f.Call(given)
			}
			if makes {
				if made := inside(out[0]); made.Kind() == reflect.Map || made.Kind() == reflect.Slice {
					t.own[made.Pointer()] = true
				}
			}
			return out
		}).Interface()
	}
	return functions
}

func inside(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

// owns reports whether nobody else sees a change of a value: it is a map of the template's
// own with no other map or list in it, or its own list.
func (t *traces) owns(v reflect.Value) bool {
	switch v = inside(v); v.Kind() {
	case reflect.Map:
		if !t.own[v.Pointer()] {
			return false
		}
		for each := v.MapRange(); each.Next(); {
			switch in := inside(each.Value()); in.Kind() {
			case reflect.Map, reflect.Slice, reflect.Pointer:
				if in.Kind() != reflect.Map || !t.owns(in) {
					return false
				}
			}
		}
		return true
	case reflect.Slice: // of other lists a copy is put in order
		return v.Type().Elem().Kind() != reflect.String || t.own[v.Pointer()]
	}
	return true
}

// mark puts the marks around the templates of a chart and of those below it.
func mark(c *chart.Chart) {
	walkTemplates(c, func(name string, text []byte) []byte {
		return slices.Concat([]byte("{{"+beginsFile+" "+strconv.Quote(name)+"}}"), text, []byte("{{"+endsFile+"}}"))
	})
}

// leaveOut removes the templates that need not run again: those that did nothing of note,
// unless they define what others include.
func (t *traces) leaveOut(c *chart.Chart) {
	walkTemplates(c, func(name string, text []byte) []byte {
		if t.generated[name] || t.changed[name] || bytes.Contains(text, []byte("define")) || bytes.Contains(text, []byte("block")) {
			return text
		}
		return nil
	})
}

// walkTemplates gives each template that the engine runs another text, and removes those
// that get none. Two charts of one name under other ones share the files themselves.
func walkTemplates(c *chart.Chart, change func(name string, text []byte) []byte) {
	var all []*common.File
	for _, f := range c.Templates {
		if !strings.HasPrefix(path.Base(f.Name), "_") {
			f = &common.File{Name: f.Name, Data: change(path.Join(c.ChartFullPath(), f.Name), f.Data)}
		}
		if f.Data != nil {
			all = append(all, f)
		}
	}
	c.Templates = all
	for _, sub := range c.Dependencies() {
		walkTemplates(sub, change)
	}
}
