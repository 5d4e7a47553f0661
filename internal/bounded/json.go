package bounded

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"sync"
)

// perValue is what a value of JSON takes as part of a map or a slice of any, with the
// copies that these make while they grow.
const perValue = 96

// JSON decodes a text that becomes at most so many bytes.
func JSON(text []byte, into any, most int) error {
	if err := CheckJSON(text, into, most); err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// ReadJSON reads a text of at most so many bytes, and decodes it within Most of that.
func ReadJSON(r io.Reader, into any, text int) error {
	raw, err := io.ReadAll(io.LimitReader(r, int64(text)+1))
	switch {
	case err != nil:
		return err
	case len(raw) > text:
		return fmt.Errorf("%w: its text is longer than %d bytes; send less at once", ErrTooLarge, text)
	}
	return JSON(raw, into, Most(text))
}

// CheckJSON returns an error for a text that would become more than so many bytes of the
// given type, or that is nested too deeply. A text that is no JSON is left to the decoder.
func CheckJSON(text []byte, into any, most int) error {
	perObject := perValue
	if t := reflect.TypeOf(into); t != nil {
		perObject = max(perObject, 4*allocated(largestStruct(t)))
	}
	return checkJSON(text, perObject, most)
}

// checkJSON adds up values, and what an object takes, which may be a struct.
func checkJSON(text []byte, perObject, most int) error {
	left, depth := most, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			start := i
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			left -= i - start + perText
		case '{', '[':
			if depth++; depth > MaxDepth {
				return tooDeep(fmt.Sprintf("byte %d", i))
			}
			left -= perValue
			if text[i] == '{' {
				left -= perObject
			}
		case '}', ']':
			depth--
		case ',':
			left -= perValue
		}
		if left < 0 {
			return tooLarge(most, fmt.Sprintf("byte %d", i))
		}
	}
	return nil
}

var structs sync.Map

// largestStruct is the size of the largest struct that a value of the type may have.
func largestStruct(t reflect.Type) int {
	if known, ok := structs.Load(t); ok {
		return known.(int)
	}
	most, seen := 0, map[reflect.Type]bool{}
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		if seen[t] {
			return
		}
		seen[t] = true
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array:
			visit(t.Elem())
		case reflect.Map:
			visit(t.Key())
			visit(t.Elem())
		case reflect.Struct:
			most = max(most, int(t.Size()))
			for i := range t.NumField() {
				visit(t.Field(i).Type)
			}
		}
	}
	visit(t)
	structs.Store(t, most)
	return most
}
