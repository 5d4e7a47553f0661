package helm

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/luabox"
)

// luaBox makes a Lua state with tables, strings and numbers, the modules encoding, fs
// and utils, and the bindings that templates see. It has no io, no os, no clock and
// no network; random numbers would produce different values each time.
func (r Request) luaBox() *luabox.Box {
	box := luabox.New(luaLimits)
	state := box.State
	if r.Liquid != nil {
		for name, value := range capitalised(r.Liquid.Bindings()) {
			state.SetGlobal(name, toLua(state, value))
		}
	}
	state.SetGlobal("values", state.NewTable())
	state.SetGlobal("valuesFiles", state.NewTable())
	for module, functions := range r.luaModules() {
		table := state.NewTable()
		for name, f := range functions {
			table.RawSetString(name, state.NewFunction(luaFunction(f)))
		}
		state.SetGlobal(module, table)
	}
	return box
}

// luaCall is a function of a module: it takes values and returns one value or an
// error.
type luaCall func(args []any) (any, error)

// luaFunction returns the value, or nil and the error's text, as scripts expect.
func luaFunction(f luaCall) lua.LGFunction {
	return func(l *lua.LState) int {
		var args []any
		for i := 1; i <= l.GetTop(); i++ {
			arg, err := fromLua(l.Get(i))
			if err != nil {
				l.RaiseError("%s", err.Error())
			}
			args = append(args, arg)
		}
		out, err := f(args)
		if err != nil {
			l.Push(lua.LNil)
			l.Push(lua.LString(err.Error()))
			return 2
		}
		l.Push(toLua(l, out))
		return 1
	}
}

func (r Request) luaModules() map[string]map[string]luaCall {
	return map[string]map[string]luaCall{
		"encoding": {
			"jsonEncode": func(args []any) (any, error) { return encoded(json.Marshal(argument(args, 0))) },
			"yamlEncode": func(args []any) (any, error) { return encoded(yaml.Marshal(argument(args, 0))) },
			"jsonDecode": func(args []any) (out any, err error) {
				return out, json.Unmarshal([]byte(textArgument(args, 0)), &out)
			},
			"yamlDecode": func(args []any) (out any, err error) {
				return out, yaml.Unmarshal([]byte(textArgument(args, 0)), &out)
			},
		},
		"fs": {"read": r.luaRead, "walk": r.luaWalk},
		"utils": {
			"merge": luaMerge,
			"splitString": func(args []any) (any, error) {
				var parts []any
				for part := range strings.SplitSeq(textArgument(args, 0), textArgument(args, 1)) {
					parts = append(parts, part)
				}
				return parts, nil
			},
			"pathJoin": func(args []any) (any, error) {
				if list, ok := argument(args, 0).([]any); ok {
					args = list
				}
				var parts []string
				for i := range args {
					parts = append(parts, textArgument(args, i))
				}
				return path.Join(parts...), nil
			},
		},
	}
}

func encoded(text []byte, err error) (any, error) { return string(text), err }

func argument(args []any, i int) any {
	if i < len(args) {
		return args[i]
	}
	return nil
}

func textArgument(args []any, i int) string {
	text, _ := argument(args, i).(string)
	return text
}

// luaRead reads a file of the service, by a path relative to the chart or to the
// service's folder.
func (r Request) luaRead(args []any) (any, error) {
	name := textArgument(args, 0)
	for _, root := range r.roots() {
		if file := path.Join(root, name); r.Tree.IsFile(file) {
			text, err := r.Tree.Read(file)
			return string(text), err
		}
	}
	return nil, fmt.Errorf("%s: there is no such file in the service", name)
}

// luaWalk lists the files below a folder, as paths for read.
func (r Request) luaWalk(args []any) (any, error) {
	name := textArgument(args, 0)
	for _, root := range r.roots() {
		dir := path.Join(root, name)
		if !r.Tree.IsDir(dir) {
			continue
		}
		out := []any{}
		for _, file := range slices.Sorted(slices.Values(r.Tree.Below(dir))) {
			if root != "." {
				file = strings.TrimPrefix(file, root+"/")
			}
			out = append(out, file)
		}
		return out, nil
	}
	return nil, fmt.Errorf("%s: there is no such folder in the service", name)
}

// luaMerge merges the second table over the first. Lists are replaced, or in the mode
// "append" added to the first's.
func luaMerge(args []any) (any, error) {
	low, lowOK := table(argument(args, 0))
	high, highOK := table(argument(args, 1))
	mode := textArgument(args, 2)
	switch {
	case !lowOK || !highOK:
		return nil, errors.New("merge needs two tables with string keys")
	case mode != "" && mode != "override" && mode != "append":
		return nil, fmt.Errorf("merge has the modes override and append, not %q", mode)
	}
	return mergeTables(low, high, mode == "append"), nil
}

func table(v any) (map[string]any, bool) {
	if list, ok := v.([]any); ok && len(list) == 0 {
		return map[string]any{}, true
	}
	m, ok := v.(map[string]any)
	return m, ok
}

func mergeTables(low, high map[string]any, add bool) map[string]any {
	for key, over := range high {
		under, there := low[key]
		a, aOK := under.(map[string]any)
		b, bOK := over.(map[string]any)
		listA, listsA := under.([]any)
		listB, listsB := over.([]any)
		switch {
		case there && aOK && bOK:
			low[key] = mergeTables(a, b, add)
		case there && add && listsA && listsB:
			low[key] = slices.Concat(listA, listB)
		default:
			low[key] = over
		}
	}
	return low
}

// listMark is the metatable of tables that were lists, so that an empty list stays a
// list. Scripts can neither see nor change it.
var listMark = func() *lua.LTable {
	mark := &lua.LTable{}
	mark.RawSetString("__metatable", lua.LFalse)
	return mark
}()

// toLua converts a decoded value to a Lua value.
func toLua(state *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case nil:
		return lua.LNil
	case bool:
		return lua.LBool(v)
	case string:
		return lua.LString(v)
	case float64:
		return lua.LNumber(v)
	case int:
		return lua.LNumber(v)
	case int64:
		return lua.LNumber(v)
	case []any:
		out := state.NewTable()
		out.Metatable = listMark
		for i, item := range v {
			out.RawSetInt(i+1, toLua(state, item))
		}
		return out
	case map[string]any:
		out := state.NewTable()
		for key, item := range v {
			out.RawSetString(key, toLua(state, item))
		}
		return out
	}
	return lua.LString(fmt.Sprint(v))
}

// luaReader counts the values it has read.
type luaReader int

// fromLua converts a Lua value. A table with the keys 1, 2, 3, … becomes a list; an
// empty one becomes a map unless it was a list.
func fromLua(v lua.LValue) (any, error) {
	var read luaReader
	return read.value(v, 0)
}

func (r *luaReader) value(v lua.LValue, depth int) (any, error) {
	if depth > maxLuaNested {
		return nil, fmt.Errorf("tables nest more than %d deep, or contain themselves", maxLuaNested)
	}
	if *r++; *r > maxLuaValues {
		return nil, fmt.Errorf("tables hold more than %d values", maxLuaValues)
	}
	switch v := v.(type) {
	case *lua.LNilType:
		return nil, nil
	case lua.LBool:
		return bool(v), nil
	case lua.LString:
		return string(v), nil
	case lua.LNumber:
		if n := int64(v); lua.LNumber(n) == v && n > -1<<53 && n < 1<<53 {
			return n, nil
		}
		return float64(v), nil
	case *lua.LTable:
		return r.table(v, depth)
	}
	return nil, fmt.Errorf("a %s cannot be converted to a value", v.Type())
}

func (r *luaReader) table(t *lua.LTable, depth int) (any, error) {
	fields, list := map[string]any{}, make([]any, 0, t.Len())
	var failed error
	count := 0
	t.ForEach(func(key, value lua.LValue) {
		if failed != nil {
			return
		}
		count++
		if fields[key.String()], failed = r.value(value, depth+1); failed != nil {
			failed = fmt.Errorf("%s: %w", key.String(), failed)
		}
	})
	if failed != nil || count != t.Len() || (count == 0 && t.Metatable != listMark) {
		return fields, failed
	}
	for i := 1; i <= t.Len(); i++ {
		list = append(list, fields[lua.LNumber(i).String()])
	}
	return list, nil
}
