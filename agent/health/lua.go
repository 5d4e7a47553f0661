package health

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/luabox"
)

// The limits of a script: its size, and the cost of one judgement. The instruction
// count ends an endless script at the same place on every machine; the clock bounds
// what a single instruction may cost.
const (
	maxScript     = 64 << 10
	maxText       = 64 << 10
	maxValues     = 400_000
	maxLuaMessage = maxMessage
	// maxBytesRuns is how often a script may exceed its memory: the figure is that of
	// the whole process, and something else may be the cause.
	maxBytesRuns = 3
)

var scriptLimits = luabox.Limits{Steps: 500_000, Time: 500 * time.Millisecond, Bytes: 32 << 20, Text: maxText, Pattern: 4_000_000,
	Calls: 100, Registry: 8192, Clock: true, Random: true}

// limitTexts say which limit a script reached.
var limitTexts = map[error]string{
	luabox.ErrSteps: "it took more than 500,000 instructions",
	luabox.ErrTime:  "it took more than 500 ms",
	luabox.ErrBytes: "it used more than 32 MiB of memory",
}

// Lua is a rule that a user wrote in Lua. It is safe for concurrent use.
// A script sees the object as `obj` and returns a table with status and
// message, as scripts of Argo CD do; or it sees it as `Obj` and leaves that
// table in the global healthStatus, as scripts of Plural do.
type Lua struct {
	name   string
	script *luabox.Script
	// old is true for a script that reads Obj.
	old bool
}

// CompileLua parses a script; name is used in its messages. The script is not run.
func CompileLua(name, source string) (*Lua, error) {
	if len(source) > maxScript {
		return nil, errcode.New(errcode.Invalid, "script %s has %d bytes; %d are allowed", name, len(source), maxScript)
	}
	script, err := compileOnce(source)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "script %s does not compile: %s", name, strings.TrimSpace(err.Error()))
	}
	return &Lua{name: name, script: script, old: strings.Contains(source, "Obj")}, nil
}

// compiled caches scripts by the hash of their text, so that reading all rules again
// costs nothing for unchanged scripts.
var compiled = struct {
	sync.Mutex
	byHash map[[sha256.Size]byte]*luabox.Script
}{byHash: map[[sha256.Size]byte]*luabox.Script{}}

// maxCompiled bounds the cached scripts; beyond it the cache is emptied.
const maxCompiled = 512

func compileOnce(source string) (*luabox.Script, error) {
	hash := sha256.Sum256([]byte(source))
	compiled.Lock()
	defer compiled.Unlock()
	if script := compiled.byHash[hash]; script != nil {
		return script, nil
	}
	script, err := luabox.Compile("script:"+hex.EncodeToString(hash[:4]), source)
	if err != nil {
		return nil, err
	}
	if len(compiled.byHash) >= maxCompiled {
		clear(compiled.byHash)
	}
	compiled.byHash[hash] = script
	return script, nil
}

// Judge runs the script on one object. Any error means Unknown, with a message that
// names the script.
func (l *Lua) Judge(object *unstructured.Unstructured) Result {
	for n := 1; ; n++ {
		result, err := l.run(object)
		switch {
		case err == nil:
			return result
		case errors.Is(err, luabox.ErrBytes) && n < maxBytesRuns:
			continue
		case limitTexts[err] != "":
			return l.unknown("%s", limitTexts[err])
		}
		return l.unknown("%w", err)
	}
}

func (l *Lua) run(object *unstructured.Unstructured) (Result, error) {
	box := luabox.New(scriptLimits)
	defer box.Close()
	addConditions(box.State)
	var budget nodeBudget
	value, err := budget.table(box.State, object.Object, nil)
	if err != nil {
		return Result{}, err
	}
	box.State.SetGlobal("obj", value)
	if l.old {
		if value, err = budget.table(box.State, object.Object, lowerFirst(box.State)); err != nil {
			return Result{}, err
		}
		box.State.SetGlobal("Obj", value)
	}
	answer, err := box.Run(l.script)
	if err != nil {
		return Result{}, err
	}
	if answer == lua.LNil {
		answer = box.State.G.Global.RawGetString("healthStatus")
	}
	return l.read(answer), nil
}

// read reads the answer without its metatables, so that no code of the script runs
// after it ended.
func (l *Lua) read(answer lua.LValue) Result {
	table, ok := answer.(*lua.LTable)
	if !ok {
		return l.unknown("it returned %s instead of a table with status and message", answer.Type())
	}
	word, ok := table.RawGetString("status").(lua.LString)
	if !ok {
		return l.unknown("status is %s instead of a string", table.RawGetString("status").Type())
	}
	status, ok := words[string(word)]
	if !ok {
		return l.unknown("%q is not a valid status", short(string(word), 64))
	}
	switch message := table.RawGetString("message").(type) {
	case *lua.LNilType:
		return Result{Status: status}
	case lua.LString, lua.LNumber, lua.LBool:
		return Result{Status: status, Message: short(message.String(), maxLuaMessage)}
	default:
		return l.unknown("message is %s instead of a string", message.Type())
	}
}

// words are the valid answers of a script. Paused is Plural's word.
var words = map[string]Status{
	string(Healthy): Healthy, string(Suspended): Suspended, string(Progressing): Progressing,
	string(Missing): Missing, string(Unknown): Unknown, string(Degraded): Degraded, "Paused": Suspended,
}

func (l *Lua) unknown(format string, args ...any) Result {
	text := fmt.Errorf(format, args...).Error()
	return Result{Status: Unknown, Message: short("script "+l.name+": "+text, maxLuaMessage)}
}

func short(text string, limit int) string {
	text = strings.ToValidUTF8(text, "�")
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}
