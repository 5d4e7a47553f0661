// Package expression judges the health of objects by expressions in CEL that a
// user wrote: health.Judge, as scripts in Lua are.
//
// An expression costs at most 1,000,000 as CEL counts, a judgement at most
// 500 ms; whatever goes wrong is Unknown. The agent does not link this package:
// CEL adds 2.0 MiB to its idle memory on top of the 1.8 of Lua, in every cluster.
package expression

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/internal/errcode"
)

// The limits of one expression: what CEL counts as cost, and the clock.
const (
	maxExpression = 16 << 10
	maxCost       = 1_000_000
	maxTime       = 500 * time.Millisecond
	maxMessage    = 1024
)

// Source are the expressions of one rule. Each of the first four is true or
// false; the first that is true, in this order, gives the status: Suspended,
// Degraded, Healthy, Progressing. None that is true is Progressing. Message is
// a text. All see the object as obj, and its fields spec, status and metadata
// by their names; those that are not there are empty.
type Source struct {
	Suspended   string `json:"suspended,omitempty"`
	Degraded    string `json:"degraded,omitempty"`
	Healthy     string `json:"healthy,omitempty"`
	Progressing string `json:"progressing,omitempty"`
	Message     string `json:"message,omitempty"`
}

// Rule is a rule that a user wrote as expressions. It may be asked by many
// goroutines.
type Rule struct {
	name    string
	tests   []test
	message cel.Program
}

type test struct {
	field   string
	status  health.Status
	program cel.Program
}

// environment is made when the first expression is: it costs memory that an
// agent without any has no use for.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	object := cel.MapType(cel.StringType, cel.DynType)
	return cel.NewEnv(cel.Variable("obj", object), cel.Variable("spec", object), cel.Variable("status", object),
		cel.Variable("metadata", object), cel.OptionalTypes(), ext.Strings(ext.StringsVersion(3)), cel.CrossTypeNumericComparisons(true))
})

// Compile reads expressions; name is what their messages call them.
func Compile(name string, source Source) (*Rule, error) {
	rule := &Rule{name: name}
	for _, one := range []struct {
		field, text string
		status      health.Status
	}{
		{"suspended", source.Suspended, health.Suspended}, {"degraded", source.Degraded, health.Degraded},
		{"healthy", source.Healthy, health.Healthy}, {"progressing", source.Progressing, health.Progressing},
	} {
		if one.text == "" {
			continue
		}
		program, err := compile(name, one.field, one.text, cel.BoolType)
		if err != nil {
			return nil, err
		}
		rule.tests = append(rule.tests, test{one.field, one.status, program})
	}
	if len(rule.tests) == 0 {
		return nil, errcode.New(errcode.Invalid, "rule %s has no expression: give at least one of healthy, progressing, degraded and suspended", name)
	}
	if source.Message != "" {
		program, err := compile(name, "message", source.Message, cel.StringType)
		if err != nil {
			return nil, err
		}
		rule.message = program
	}
	return rule, nil
}

func compile(name, field, text string, want *cel.Type) (cel.Program, error) {
	if len(text) > maxExpression {
		return nil, errcode.New(errcode.Invalid, "expression %s of %s has %d bytes; %d are allowed", field, name, len(text), maxExpression)
	}
	env, err := environment()
	if err != nil {
		return nil, err
	}
	tree, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, errcode.New(errcode.Invalid, "expression %s of %s does not compile: %w", field, name, err)
	}
	if got := tree.OutputType(); !got.IsAssignableType(want) && got.Kind() != cel.DynKind {
		return nil, errcode.New(errcode.Invalid, "expression %s of %s is %s in place of %s", field, name, got, want)
	}
	program, err := env.Program(tree, cel.CostLimit(maxCost), cel.InterruptCheckFrequency(100))
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "expression %s of %s: %w", field, name, err)
	}
	return program, nil
}

var errKind = errors.New("it is no true or false")

// Judge asks the expressions. An error in one is Unknown, with a message that
// names it.
func (r *Rule) Judge(object *unstructured.Unstructured) (result health.Result) {
	ctx, cancel := context.WithTimeout(context.Background(), maxTime)
	defer cancel()
	values := input(object.Object)
	result = health.Result{Status: health.Progressing}
	for _, t := range r.tests {
		yes, err := truth(ctx, t.program, values)
		if err != nil {
			return r.unknown(t.field, err)
		}
		if yes {
			result.Status = t.status
			break
		}
	}
	if r.message == nil {
		return result
	}
	value, _, err := r.message.ContextEval(ctx, values)
	if err != nil {
		return r.unknown("message", err)
	}
	result.Message = short(fmt.Sprint(value.Value()))
	return result
}

func truth(ctx context.Context, program cel.Program, values map[string]any) (bool, error) {
	value, _, err := program.ContextEval(ctx, values)
	if err != nil {
		return false, err
	}
	yes, ok := value.Value().(bool)
	if !ok {
		return false, errKind
	}
	return yes, nil
}

func input(object map[string]any) map[string]any {
	values := map[string]any{"obj": object}
	for _, field := range []string{"spec", "status", "metadata"} {
		values[field] = map[string]any{}
		if value, ok := object[field].(map[string]any); ok {
			values[field] = value
		}
	}
	return values
}

func (r *Rule) unknown(field string, err error) health.Result {
	return health.Result{Status: health.Unknown, Message: short(fmt.Sprintf("rule %s: expression %s: %v", r.name, field, err))}
}

func short(text string) string {
	text = strings.ToValidUTF8(text, "�")
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage-len("…")], "") + "…"
}
