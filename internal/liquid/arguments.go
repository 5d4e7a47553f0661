package liquid

import (
	"encoding/base32"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// arguments converts a template's arguments to a function's parameters. Numbers are
// often strings, because configuration is text.
func arguments(fn reflect.Type, args []any) ([]reflect.Value, error) {
	want := fn.NumIn()
	if fn.IsVariadic() {
		want--
	}
	if len(args) < want || (len(args) > want && !fn.IsVariadic()) {
		return nil, fmt.Errorf("wants %d arguments, got %d", want-1, len(args)-1)
	}
	in := make([]reflect.Value, len(args))
	for i, arg := range args {
		to := reflect.Type(nil)
		if i >= want {
			to = fn.In(want).Elem()
		} else {
			to = fn.In(i)
		}
		value, err := convert(arg, to)
		if err != nil {
			return nil, err
		}
		in[i] = value
	}
	return in, nil
}

// convert converts a value to the type, or says what it got instead.
func convert(v any, to reflect.Type) (reflect.Value, error) {
	if v == nil {
		return reflect.Zero(to), nil
	}
	if reflect.TypeOf(v).AssignableTo(to) {
		return reflect.ValueOf(v), nil
	}
	switch to.Kind() {
	case reflect.String:
		if k := reflect.ValueOf(v).Kind(); k == reflect.Map || k == reflect.Slice || k == reflect.Struct {
			return reflect.Value{}, fmt.Errorf("wants a text, got %s", kind(v))
		}
		return reflect.ValueOf(text(v)).Convert(to), nil
	case reflect.Bool:
		// Truth in Liquid: everything except nil and false.
		b, is := v.(bool)
		return reflect.ValueOf(!is || b), nil
	case reflect.Int, reflect.Int64, reflect.Float64:
		n, err := number(v)
		if err != nil {
			return reflect.Value{}, err
		}
		return reflect.ValueOf(n).Convert(to), nil
	case reflect.Uint32:
		n, err := number(v)
		if err != nil {
			return reflect.Value{}, err
		}
		count := reflect.ValueOf(n).Convert(reflect.TypeFor[float64]()).Float()
		if count < 0 || count > math.MaxInt32 {
			return reflect.Value{}, errors.New("wants a number from 0 on")
		}
		return reflect.ValueOf(uint32(count)), nil
	case reflect.Slice:
		return convertList(v, to)
	case reflect.Map:
		return convertMap(v, to)
	}
	return reflect.Value{}, fmt.Errorf("wants %s, got %s", to, kind(v))
}

func convertList(v any, to reflect.Type) (reflect.Value, error) {
	from := reflect.ValueOf(v)
	if from.Kind() != reflect.Slice && from.Kind() != reflect.Array {
		return reflect.Value{}, fmt.Errorf("wants a list, got %s", kind(v))
	}
	out := reflect.MakeSlice(to, from.Len(), from.Len())
	for i := range from.Len() {
		item, err := convert(from.Index(i).Interface(), to.Elem())
		if err != nil {
			return reflect.Value{}, err
		}
		out.Index(i).Set(item)
	}
	return out, nil
}

func convertMap(v any, to reflect.Type) (reflect.Value, error) {
	from := reflect.ValueOf(v)
	if from.Kind() != reflect.Map {
		return reflect.Value{}, fmt.Errorf("wants a map, got %s", kind(v))
	}
	out := reflect.MakeMapWithSize(to, from.Len())
	for each := from.MapRange(); each.Next(); {
		value, err := convert(each.Value().Interface(), to.Elem())
		if err != nil {
			return reflect.Value{}, err
		}
		out.SetMapIndex(reflect.ValueOf(text(each.Key().Interface())), value)
	}
	return out, nil
}

// number accepts a number, or a string that parses as one.
func number(v any) (any, error) {
	if s, ok := v.(string); ok {
		s = strings.TrimSpace(s)
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n, nil
		}
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, errors.New("the text is not a number")
		}
		return n, nil
	}
	if !isNumber(v) {
		return nil, fmt.Errorf("wants a number, got %s", kind(v))
	}
	return v, nil
}

// kind describes the type of a value for people.
func kind(v any) string {
	if _, ok := v.(time.Time); ok {
		return "a time"
	}
	switch reflect.ValueOf(v).Kind() {
	case reflect.Invalid:
		return "nothing"
	case reflect.String:
		return "a text"
	case reflect.Map:
		return "a map"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Bool:
		return "true or false"
	}
	if isNumber(v) {
		return "a number"
	}
	return fmt.Sprintf("%T", v)
}

func decodeBase64(s string) (string, error) {
	out, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return "", fmt.Errorf("not base64: %w", err)
	}
	return string(out), nil
}

func decodeBase32(s string) (string, error) {
	out, err := base32.StdEncoding.DecodeString(s)
	if err != nil {
		return "", fmt.Errorf("not base32: %w", err)
	}
	return string(out), nil
}
