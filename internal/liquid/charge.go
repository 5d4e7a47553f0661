package liquid

import (
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"strings"
)

const (
	// perStep is how many bytes of its values a filter reads in one step.
	perStep = 512
	// slowSteps are those of a filter that is slow by design, such as genPrivateKey.
	slowSteps = 1000
)

// heads are filters that look at no more than the head of a value, or at one entry.
var heads = []string{
	"default", "first", "mustFirst", "last", "mustLast", "size", "type", "get", "hasKey", "dig", "ternary", "coalesce", "empty", "all",
	"any", "kindOf", "kindIs", "typeOf", "typeIs", "typeIsLike", "required",
}

// changers are filters that change a map in place, with whatever else contains it.
var changers = []string{"set", "unset", "merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite"}

// factors are how many times dearer a filter reads a byte than most.
var factors = map[string]int{
	"fromJson": 16, "mustFromJson": 16, "from_json": 16, "fromYaml": 16, "from_yaml": 16, "toYaml": 16, "to_yaml": 16,
	"json": 4, "inspect": 4, "toJson": 4, "to_json": 4, "toPrettyJson": 4, "toRawJson": 4, "mustToJson": 4, "mustToPrettyJson": 4, "mustToRawJson": 4,
	"sort": 16, "sort_natural": 16, "sortAlpha": 16, "semver": 32, "semverCompare": 32, "semver_compare": 32, "strip_html": 8,
	"split": 4, "splitList": 4, "splitn": 4, "date": 64, "dateInZone": 16, "date_in_zone": 16, "htmlDateInZone": 16,
	"snakecase": 4, "camelcase": 4, "kebabcase": 4, "swapcase": 4, "title": 4, "initials": 4, "wrap": 4, "wrapWith": 4, "escape_once": 4,
	"deepCopy": 8, "mustDeepCopy": 8, "merge": 8, "mergeOverwrite": 8, "mustMerge": 8, "mustMergeOverwrite": 8,
}

// extras are what the cost of a filter depends on beside the weight of its values: the
// steps, and about how many bytes it makes. They get the filter's arguments.
var extras = map[string]func(in []reflect.Value) (steps, makes int){
	"replace": func(in []reflect.Value) (int, int) {
		s, old, with := in[0].String(), in[1].String(), in[2].String()
		return 0, len(s) + strings.Count(s, old)*len(with)
	},
	"join": joinCost, "indent": indentCost, "nindent": indentCost,
	"repeat": func(in []reflect.Value) (int, int) { return 0, product(in[0].Int(), in[1].Len()) },
	"wrapWith": func(in []reflect.Value) (int, int) {
		return 0, in[2].Len() + product(int64(in[2].Len())/max(in[0].Int(), 1)+1, in[1].Len())
	},
	"until": func(in []reflect.Value) (int, int) { return 0, product(in[0].Int(), word) },
	"untilStep": func(in []reflect.Value) (int, int) {
		return 0, product((in[1].Int()-in[0].Int())/nonzero(in[2].Int()), word)
	},
	"seq":  func([]reflect.Value) (int, int) { return 0, maxText / 8 },
	"uniq": uniqCost, "mustUniq": uniqCost,
	"without": uniqCost, "mustWithout": uniqCost,
	"truncate": func(in []reflect.Value) (int, int) {
		n, more := in[1].Interface().(func(int) int)(50), in[2].Interface().(func(string) string)("...")
		size := min(max(n, 0), maxItems) + len(more)
		return size/16 + size*in[0].Len()/1024, 0
	},
	"truncatewords": func(in []reflect.Value) (int, int) {
		size := 6 * min(max(in[1].Interface().(func(int) int)(15), 0), maxItems)
		return size/16 + size*in[0].Len()/1024, 0
	},
	"date":         func(in []reflect.Value) (int, int) { return 0, widths(in) },
	"randAlphaNum": randomCost, "randAlpha": randomCost, "randAscii": randomCost, "randNumeric": randomCost, "randBytes": randomCost,
}

// product is a number times a length, and not more than what is too much anyway.
func product(n int64, length int) int {
	if n <= 0 {
		return 0
	}
	if high, low := bits.Mul64(uint64(n), uint64(length)); high == 0 && low <= 2*maxText {
		return int(low)
	}
	return 2 * maxText
}

func nonzero(n int64) int64 {
	if n == 0 {
		return 1
	}
	return n
}

func randomCost(in []reflect.Value) (int, int) { return 0, product(in[0].Int(), 16) }

func indentCost(in []reflect.Value) (int, int) {
	s := in[1].String()
	return 0, len(s) + product(in[0].Int(), strings.Count(s, "\n")+1)
}

// joinCost is that of Sprig's and of Liquid's: a text and a list, in any order.
func joinCost(in []reflect.Value) (_, makes int) {
	length, between := 0, 1
	for _, v := range in {
		if v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		switch v.Kind() {
		case reflect.Slice:
			length = max(length, v.Len())
			for i := range v.Len() {
				if item, ok := v.Index(i).Interface().(string); ok && v.Len() <= 2 {
					between = max(between, len(item))
				}
			}
		case reflect.String:
			between = max(between, v.Len())
		}
	}
	return 0, product(int64(length), between)
}

// uniqCost is that of comparing each entry of a list with each.
func uniqCost(in []reflect.Value) (steps, _ int) {
	most, length := maxText, 1
	w, _ := weigh(in[0].Interface(), most)
	for _, v := range in {
		if v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		if v.Kind() == reflect.Slice {
			length = max(length, v.Len())
		}
	}
	return length * w.bytes / 3200, 0
}

// widths adds up the numbers in layouts of dates, which are widths.
func widths(in []reflect.Value) int {
	total := 0
	for _, v := range in {
		s, ok := v.Interface().(string)
		if v.Kind() == reflect.Slice && v.Len() > 0 {
			s, ok = v.Index(0).Interface().(string)
		}
		if !ok {
			continue
		}
		for number := range strings.FieldsFuncSeq(s, func(r rune) bool { return r < '0' || r > '9' }) {
			n := 2 * maxText
			if len(number) < 8 {
				n = 0
				for _, digit := range number {
					n = n*10 + int(digit-'0')
				}
			}
			total = min(total+n, 2*maxText)
		}
	}
	return total
}

// charge is what the calls of one filter cost.
type charge struct {
	e             *Engine
	name          string
	head, changes bool
	slow          bool
	factor        int
	extra         func(in []reflect.Value) (steps, makes int)
}

func (e *Engine) chargeOf(name string) charge {
	return charge{
		e: e, name: name, head: slices.Contains(heads, name), changes: slices.Contains(changers, name), factor: max(factors[name], 1), extra: extras[name],
		slow: strings.HasPrefix(name, "gen") || slices.Contains([]string{"derivePassword", "bcrypt", "htpasswd"}, name),
	}
}

// before charges for the values of a call as the template has them.
func (c charge) before(v any, args []any) error {
	if !c.e.limited() {
		return nil
	}
	switch {
	case c.slow && !c.e.limits.Slow:
		return errors.New("it takes too long to be used here")
	case c.slow:
		return c.e.step(slowSteps)
	case c.head:
		// A list may be copied into one of another type.
		return c.e.step(1 + (length(v)+length(args...))/(4*perStep))
	}
	steps, most := 1, c.e.left()*perStep
	for _, one := range append([]any{v}, args...) {
		w, ok := weigh(one, most)
		if !ok && w.bytes <= most {
			return errors.New("lists and maps within each other more than 100 times, or within themselves, cannot be used here")
		}
		steps += c.factor * w.bytes / perStep
	}
	return c.e.step(steps)
}

// length is the length of texts and lists, in bytes.
func length(all ...any) (bytes int) {
	for _, v := range all {
		switch r := reflect.ValueOf(v); r.Kind() {
		case reflect.String:
			bytes += r.Len()
		case reflect.Slice, reflect.Array:
			bytes += r.Len() * word
		}
	}
	return bytes
}

// call charges for what depends on the arguments.
func (c charge) call(in []reflect.Value) error {
	if !c.e.limited() || c.extra == nil || len(in) == 0 {
		return nil
	}
	steps, makes := c.extra(in)
	if makes > maxText {
		return fmt.Errorf("%s makes more than %d bytes", c.name, maxText)
	}
	return c.e.step(steps + makes/perStep)
}

// after charges for a result, and refuses one that is too large to go on with.
func (c charge) after(made any) error {
	if !c.e.limited() || c.head {
		return nil
	}
	w, ok := weigh(made, c.e.limits.Bytes+word)
	if !ok {
		if list := reflect.ValueOf(made); list.Kind() == reflect.Slice && list.Type().Elem().Kind() != reflect.Uint8 {
			return fmt.Errorf("%s makes a list of more than %d bytes", c.name, c.e.limits.Bytes)
		}
		return fmt.Errorf("%s makes more than %d bytes", c.name, c.e.limits.Bytes)
	}
	if err := c.e.grew(w.widest); err != nil {
		return err
	}
	steps := w.bytes / perStep
	if c.changes {
		// What contains the map has grown with it.
		most := c.e.left() * perStep
		all, ok := weigh(c.e.live, most)
		if !ok && all.bytes <= most {
			return errors.New("a map cannot be put into itself here")
		}
		steps += all.bytes / perStep
	}
	return c.e.step(steps)
}

// charged is a filter of the library that is charged.
func (e *Engine) charged(name string, fn reflect.Value) any {
	charge, of := e.chargeOf(name), fn.Type()
	in := make([]reflect.Type, of.NumIn())
	for i := range in {
		in[i] = of.In(i)
	}
	failed := reflect.TypeFor[error]()
	made := reflect.FuncOf(in, []reflect.Type{reflect.TypeFor[any](), failed}, of.IsVariadic())
	return reflect.MakeFunc(made, func(in []reflect.Value) []reflect.Value {
		out, err := charge.around(fn, in)
		results := []reflect.Value{reflect.New(reflect.TypeFor[any]()).Elem(), reflect.New(failed).Elem()}
		if out != nil {
			results[0].Set(reflect.ValueOf(out))
		}
		if err != nil {
			results[1].Set(reflect.ValueOf(err))
		}
		return results
	}).Interface()
}

func (c charge) around(fn reflect.Value, in []reflect.Value) (any, error) {
	values := make([]any, 0, len(in))
	for _, v := range in {
		if v.Kind() != reflect.Func {
			values = append(values, v.Interface())
		}
	}
	if err := c.before(nil, values); err != nil {
		return nil, err
	}
	if err := c.call(in); err != nil {
		return nil, err
	}
	call := fn.Call
	if fn.Type().IsVariadic() {
		call = fn.CallSlice
	}
	results := call(in)
	if len(results) == 2 && !results[1].IsNil() {
		return nil, results[1].Interface().(error)
	}
	made := results[0].Interface()
	return made, c.after(made)
}
