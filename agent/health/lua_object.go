package health

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/gopher-lua"
)

// nodeBudget bounds the converted values of one object: 400,000.
type nodeBudget int

var errObject = errors.New("the object has more than 400,000 values")

// table converts a map to a Lua table; meta, if set, becomes the metatable of it and
// of every map inside. Lua numbers are floats, so integers above 2^53 lose their last
// digits; smaller ones print as integers. A null becomes nil: its key is missing, and
// lists close the gap.
func (b *nodeBudget) table(state *lua.LState, object map[string]any, meta *lua.LTable) (*lua.LTable, error) {
	out := state.CreateTable(0, len(object))
	for key, inner := range object {
		value, err := b.value(state, inner, meta)
		if err != nil {
			return nil, err
		}
		out.RawSetString(key, value)
	}
	if meta != nil {
		out.Metatable = meta
	}
	return out, nil
}

func (b *nodeBudget) value(state *lua.LState, value any, meta *lua.LTable) (lua.LValue, error) {
	if *b++; *b > maxValues {
		return nil, errObject
	}
	switch v := value.(type) {
	case map[string]any:
		return b.table(state, v, meta)
	case []any:
		out := state.CreateTable(len(v), 0)
		for _, inner := range v {
			item, err := b.value(state, inner, meta)
			if err != nil {
				return nil, err
			}
			if item != lua.LNil {
				out.Append(item)
			}
		}
		return out, nil
	}
	return scalar(value)
}

func scalar(value any) (lua.LValue, error) {
	switch v := value.(type) {
	case nil:
		return lua.LNil, nil
	case string:
		return lua.LString(v), nil
	case bool:
		return lua.LBool(v), nil
	case int64:
		return lua.LNumber(v), nil
	case int:
		return lua.LNumber(v), nil
	case int32:
		return lua.LNumber(v), nil
	case float64:
		return lua.LNumber(v), nil
	case json.Number:
		f, err := v.Float64()
		return lua.LNumber(f), err
	}
	return nil, fmt.Errorf("the object holds a %T", value)
}

// lowerFirst lets a script of Plural write Obj.Status for Obj.status: a missing key
// that begins with a capital is looked up in lower case.
func lowerFirst(state *lua.LState) *lua.LTable {
	meta := state.NewTable()
	meta.RawSetString("__index", state.NewFunction(func(l *lua.LState) int {
		object, isTable := l.Get(1).(*lua.LTable)
		key, isText := l.Get(2).(lua.LString)
		first, size := utf8.DecodeRuneInString(string(key))
		if !isTable || !isText || !unicode.IsUpper(first) {
			l.Push(lua.LNil)
			return 1
		}
		l.Push(object.RawGetString(string(unicode.ToLower(first)) + string(key[size:])))
		return 1
	}))
	return meta
}

// addConditions gives scripts of Plural their two helper functions.
func addConditions(state *lua.LState) {
	state.SetGlobal("statusConditionExists", state.NewFunction(func(l *lua.LState) int {
		l.Push(lua.LBool(statusOf(l) != lua.LNil))
		return 1
	}))
	state.SetGlobal("isStatusConditionTrue", state.NewFunction(func(l *lua.LState) int {
		l.Push(lua.LBool(statusOf(l) == lua.LString("True")))
		return 1
	}))
}

// statusOf finds the status of the condition named by the second argument, in the
// conditions of the first.
func statusOf(l *lua.LState) lua.LValue {
	status, ok := l.Get(1).(*lua.LTable)
	if !ok {
		return lua.LNil
	}
	list, ok := status.RawGetString("conditions").(*lua.LTable)
	if !ok {
		return lua.LNil
	}
	for n := 1; n <= list.Len(); n++ {
		if c, ok := list.RawGetInt(n).(*lua.LTable); ok && c.RawGetString("type") == l.Get(2) {
			return c.RawGetString("status")
		}
	}
	return lua.LNil
}
