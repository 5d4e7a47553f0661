package health

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/internal/errcode"
)

// The limits of a script: its own size, and what one judgement may cost. The
// count of instructions ends a script that loops, at the same place on every
// machine; the clock is for what one instruction may cost.
const (
	maxScript     = 64 << 10
	maxSteps      = 500_000
	maxRunMillis  = 500
	maxRunBytes   = 32 << 20
	maxText       = 64 << 10
	maxValues     = 400_000
	maxLuaCalls   = 100
	maxLuaMessage = maxMessage
)

// Lua is a rule that a user wrote in Lua. It may be asked by many goroutines.
//
// A script sees the object as `obj` and returns a table with status and
// message, as scripts of Argo CD do; or it sees it as `Obj` and leaves that
// table in the global healthStatus, as scripts of Plural do.
type Lua struct {
	name  string
	proto *lua.FunctionProto
	// old is true for a script that reads Obj.
	old bool
}

// CompileLua reads a script; name is what its messages call it. The script is
// not run.
func CompileLua(name, source string) (*Lua, error) {
	if len(source) > maxScript {
		return nil, errcode.New(errcode.Invalid, "script %s has %d bytes; %d are allowed", name, len(source), maxScript)
	}
	proto, err := compileOnce(source)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "script %s does not compile: %s", name, strings.TrimSpace(err.Error()))
	}
	return &Lua{name: name, proto: proto, old: strings.Contains(source, "Obj")}, nil
}

// compiled keeps scripts by the hash of their text, so that reading all rules
// again costs nothing for those that did not change.
var compiled = struct {
	sync.Mutex
	byHash map[[sha256.Size]byte]*lua.FunctionProto
}{byHash: map[[sha256.Size]byte]*lua.FunctionProto{}}

// maxCompiled bounds the kept scripts; beyond it all are forgotten.
const maxCompiled = 512

func compileOnce(source string) (*lua.FunctionProto, error) {
	hash := sha256.Sum256([]byte(source))
	compiled.Lock()
	defer compiled.Unlock()
	if proto := compiled.byHash[hash]; proto != nil {
		return proto, nil
	}
	proto, err := compileLua(source, "script:"+hex.EncodeToString(hash[:4]))
	if err != nil {
		return nil, err
	}
	if len(compiled.byHash) >= maxCompiled {
		clear(compiled.byHash)
	}
	compiled.byHash[hash] = proto
	return proto, nil
}

// compileLua turns every `..` into a call of the bounded concatenation, since
// the machine itself would double a string forty times without a question.
func compileLua(source, chunk string) (proto *lua.FunctionProto, err error) {
	defer func() {
		if r := recover(); r != nil {
			proto, err = nil, fmt.Errorf("%v", r)
		}
	}()
	statements, err := parse.Parse(strings.NewReader(source), chunk)
	if err != nil {
		return nil, err
	}
	bound(statements)
	return lua.Compile(statements, chunk)
}

// Judge runs the script on one object. Whatever goes wrong in it is Unknown,
// with a message that names the script.
func (l *Lua) Judge(object *unstructured.Unstructured) (result Result) {
	defer func() {
		if r := recover(); r != nil {
			result = l.unknown("%v", r)
		}
	}()
	state := newState()
	defer state.Close()
	var budget nodeBudget
	value, err := budget.table(state, object.Object, nil)
	if err != nil {
		return l.unknown("%w", err)
	}
	state.SetGlobal("obj", value)
	if l.old {
		if value, err = budget.table(state, object.Object, lowerFirst(state)); err != nil {
			return l.unknown("%w", err)
		}
		state.SetGlobal("Obj", value)
	}
	limit := newLimit()
	state.SetContext(limit)
	state.Push(state.NewFunctionFromProto(l.proto))
	if err := state.PCall(0, 1, nil); err != nil {
		if limit.err != nil {
			return l.unknown("%w", limit.err)
		}
		return l.unknown("%s", luaError(err))
	}
	answer := state.Get(-1)
	if answer == lua.LNil {
		answer = state.G.Global.RawGetString("healthStatus")
	}
	return l.read(answer)
}

// read takes the answer without its metatables: nothing of the script runs
// once it ended.
func (l *Lua) read(answer lua.LValue) Result {
	table, ok := answer.(*lua.LTable)
	if !ok {
		return l.unknown("it returned %s in place of a table with status and message", answer.Type())
	}
	word, ok := table.RawGetString("status").(lua.LString)
	if !ok {
		return l.unknown("status is %s in place of a word", table.RawGetString("status").Type())
	}
	status, ok := words[string(word)]
	if !ok {
		return l.unknown("%q is not one of the words for a status", short(string(word), 64))
	}
	switch message := table.RawGetString("message").(type) {
	case *lua.LNilType:
		return Result{Status: status}
	case lua.LString, lua.LNumber, lua.LBool:
		return Result{status, short(message.String(), maxLuaMessage)}
	default:
		return l.unknown("message is %s in place of text", message.Type())
	}
}

// words are what a script may answer. Paused is Plural's word.
var words = map[string]Status{
	string(Healthy): Healthy, string(Suspended): Suspended, string(Progressing): Progressing,
	string(Missing): Missing, string(Unknown): Unknown, string(Degraded): Degraded, "Paused": Suspended,
}

func (l *Lua) unknown(format string, args ...any) Result {
	text := fmt.Errorf(format, args...).Error()
	return Result{Unknown, short("script "+l.name+": "+text, maxLuaMessage)}
}

// luaError is an error's first line: the rest is a stack.
func luaError(err error) string {
	var api *lua.ApiError
	if errors.As(err, &api) && api.Object != nil {
		return api.Object.String()
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func short(text string, limit int) string {
	text = strings.ToValidUTF8(text, "�")
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}
