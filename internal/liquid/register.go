package liquid

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/sprig/v3"
	"github.com/osteele/liquid/filters"
)

// register adds the filters with the first template: Liquid's own, those beyond, and
// Sprig's extensions of some of Liquid's.
func (e *Engine) register() {
	if e.config != nil {
		return
	}
	config := language // which has no filters
	e.config = &config
	filters.AddStandardFilters(standards{e})
	all := functions()
	maps.Copy(all, e.dates())
	maps.Copy(all, e.regexes())
	for name, fn := range all {
		config.AddFilter(name, e.filter(name, reflect.ValueOf(fn)))
	}
	e.extend()
}

// standards registers Liquid's own filters.
type standards struct{ e *Engine }

// AddFilter implements filters.FilterDictionary. With limits, the filter is charged.
func (s standards) AddFilter(name string, fn any) {
	if s.e.limited() {
		fn = s.e.charged(name, reflect.ValueOf(fn))
	}
	s.e.config.AddFilter(name, fn)
}

// filter makes a filter from a function.
func (e *Engine) filter(name string, fn reflect.Value) func(v any, args ...any) (any, error) {
	generates := slices.Contains(generators, name)
	charge := e.chargeOf(name)
	return func(v any, args ...any) (out any, err error) {
		defer func() {
			// Sprig panics where its must functions return an error.
			if r := recover(); r != nil {
				out, err = nil, fmt.Errorf("%v", r)
			}
		}()
		if generates {
			if e.generated = true; e.limits.Repeatable {
				return nil, errors.New("a filter whose result differs each time cannot be used here")
			}
		}
		if err := charge.before(v, args); err != nil {
			return nil, err
		}
		in, err := arguments(fn.Type(), ordered(fn.Type(), v, args))
		if err != nil {
			return nil, err
		}
		if generates && slices.ContainsFunc(in, tooMany) {
			return nil, fmt.Errorf("at most %d characters at once", maxGenerated)
		}
		if err := charge.call(in); err != nil {
			return nil, err
		}
		results := fn.Call(in)
		if len(results) == 2 && !results[1].IsNil() {
			return nil, results[1].Interface().(error)
		}
		made := results[0].Interface()
		return made, charge.after(made)
	}
}

// maxGenerated bounds the length of a random text.
const maxGenerated = 1 << 16

func tooMany(v reflect.Value) bool {
	return v.Kind() == reflect.Int && v.Type() != reflect.TypeFor[time.Duration]() && v.Int() > maxGenerated
}

// ordered returns the value and the arguments in the order of the function's
// parameters, which is this one. If a function takes a number first and a string or
// list last ("8 | trunc: name"), it also accepts the reverse order, which is
// unambiguous and more usual ("name | trunc: 8").
func ordered(fn reflect.Type, v any, args []any) []any {
	in := append([]any{v}, args...)
	n := fn.NumIn()
	if len(in) != n || n < 2 || fn.IsVariadic() {
		return in
	}
	first, last := fn.In(0), fn.In(n-1)
	swap := false
	switch {
	case first.Kind() == reflect.Int && last.Kind() == reflect.String:
		_, isText := v.(string)
		swap = isText && isNumber(args[0])
	case first.Kind() == reflect.Int && last.Kind() == reflect.Interface:
		swap = isList(v) && isNumber(args[0])
	case first.Kind() == reflect.Interface && last == reflect.TypeFor[[]any]():
		swap = isList(v) && !isList(args[0])
	}
	if swap {
		return append(slices.Clone(args), v)
	}
	return in
}

func isNumber(v any) bool {
	k := reflect.ValueOf(v).Kind()
	return k >= reflect.Int && k <= reflect.Float64
}

func isList(v any) bool {
	k := reflect.ValueOf(v).Kind()
	return k == reflect.Slice || k == reflect.Array
}

// extend gives Liquid's own filters Sprig's meaning where their own is undefined: a
// list cannot be appended to, a list to join by comes second, a Go layout before a
// time is not a Liquid layout.
func (e *Engine) extend() {
	own := sprig.TxtFuncMap()
	sprigs := func(name string) func(any, ...any) (any, error) {
		return e.filter(name, reflect.ValueOf(own[name]))
	}
	push, prepend, slice, join := sprigs("mustAppend"), sprigs("mustPrepend"), sprigs("mustSlice"), sprigs("join")
	e.own("append", func(v, more any) (any, error) {
		if isList(v) {
			return push(v, more)
		}
		return text(v) + text(more), nil
	})
	e.own("prepend", func(v, more any) (any, error) {
		if isList(v) {
			return prepend(v, more)
		}
		return text(more) + text(v), nil
	})
	e.own("join", func(v any, args ...any) (any, error) {
		switch {
		case len(args) == 1 && isList(args[0]) && !isList(v):
			return join(v, args[0])
		case len(args) == 0:
			return join(" ", v)
		}
		return join(text(args[0]), v)
	})
	e.own("slice", func(v any, args ...any) (any, error) {
		if isList(v) {
			return slice(v, args...)
		}
		return sliceText(text(v), args)
	})
	// Liquid's fails on an empty list.
	e.own("uniq", sprigs("mustUniq"))
	e.own("date", e.date)
	e.own("replace", func(s, old, with string) (string, error) {
		if old == "" && len(with) > 0 && len(s) > maxText/len(with) {
			return "", fmt.Errorf("replace makes more than %d bytes", maxText)
		}
		return strings.ReplaceAll(s, old, with), nil
	})
}

// own registers one of Liquid's own filters in place of the library's.
func (e *Engine) own(name string, fn any) { standards{e}.AddFilter(name, fn) }

// sliceText is Liquid's slice: one character from a position, or as many as
// requested; a negative position counts from the end.
func sliceText(s string, args []any) (any, error) {
	in, err := arguments(reflect.TypeFor[func(...int)](), args)
	if err != nil || len(in) == 0 || len(in) > 2 {
		return nil, fmt.Errorf("slice needs a start and optionally a length")
	}
	runes := []rune(s)
	start, n := int(in[0].Int()), 1
	if len(in) == 2 {
		n = int(in[1].Int())
	}
	if start < 0 {
		start += len(runes)
	}
	if start < 0 || start > len(runes) || n <= 0 {
		return "", nil
	}
	return string(runes[start : start+min(n, len(runes)-start)]), nil
}
