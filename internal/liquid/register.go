package liquid

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/sprig/v3"
)

// register adds the filters beyond Liquid's own, and Sprig's extensions of some of
// those.
func (e *Engine) register() {
	all := functions()
	for name, fn := range e.dates() {
		all[name] = fn
	}
	for name, fn := range all {
		e.engine.RegisterFilter(name, e.filter(name, reflect.ValueOf(fn)))
	}
	e.extend()
}

// filter makes a filter from a function.
func (e *Engine) filter(name string, fn reflect.Value) func(v any, args ...any) (any, error) {
	generates, cost := slices.Contains(generators, name), cost(name)
	return func(v any, args ...any) (out any, err error) {
		defer func() {
			// Sprig panics where its must functions return an error.
			if r := recover(); r != nil {
				out, err = nil, fmt.Errorf("%v", r)
			}
		}()
		if generates {
			e.generated = true
		}
		if err := e.step(cost); err != nil {
			return nil, err
		}
		in, err := arguments(fn.Type(), ordered(fn.Type(), v, args))
		if err != nil {
			return nil, err
		}
		if generates && slices.ContainsFunc(in, tooMany) {
			return nil, fmt.Errorf("at most %d characters at once", maxGenerated)
		}
		results := fn.Call(in)
		if len(results) == 2 && !results[1].IsNil() {
			return nil, results[1].Interface().(error)
		}
		made := results[0].Interface()
		return made, e.fits(name, made)
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
	e.engine.RegisterFilter("append", func(v, more any) (any, error) {
		if isList(v) {
			return push(v, more)
		}
		return e.joined("append", text(v), text(more))
	})
	e.engine.RegisterFilter("prepend", func(v, more any) (any, error) {
		if isList(v) {
			return prepend(v, more)
		}
		return e.joined("prepend", text(more), text(v))
	})
	e.engine.RegisterFilter("join", func(v any, args ...any) (any, error) {
		switch {
		case len(args) == 1 && isList(args[0]) && !isList(v):
			return join(v, args[0])
		case len(args) == 0:
			return join(" ", v)
		}
		return join(text(args[0]), v)
	})
	e.engine.RegisterFilter("slice", func(v any, args ...any) (any, error) {
		if isList(v) {
			return slice(v, args...)
		}
		return sliceText(text(v), args)
	})
	// Liquid's fails on an empty list.
	e.engine.RegisterFilter("uniq", sprigs("mustUniq"))
	e.engine.RegisterFilter("date", e.date)
	e.engine.RegisterFilter("replace", func(s, old, with string) (string, error) {
		if old == "" && len(with) > 0 && len(s) > maxText/len(with) {
			return "", fmt.Errorf("replace makes more than %d bytes", maxText)
		}
		return strings.ReplaceAll(s, old, with), nil
	})
}

// joined is two texts as one.
func (e *Engine) joined(name, a, b string) (any, error) {
	if e.limits.Bytes > 0 && len(a)+len(b) > e.limits.Bytes {
		return nil, fmt.Errorf("%s makes more than %d bytes", name, e.limits.Bytes)
	}
	return a + b, nil
}

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
