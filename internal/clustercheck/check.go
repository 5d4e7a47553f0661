package clustercheck

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/env"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/axle-cd/axle/internal/cost"
)

// The limits of one expression: its length, its cost in CEL's units, and the time.
const (
	maxExpression = 16 << 10
	maxCost       = 1_000_000
	maxTime       = 500 * time.Millisecond
)

// environment is made with the first expression. CEL counts what a match reads and not what its
// regular expression becomes, which it compiles for each match, so matches is one of our own.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	args := []*cel.Type{cel.StringType, cel.StringType}
	return cel.NewCustomEnv(
		cel.StdLib(cel.StdLibSubset(env.NewLibrarySubset().AddExcludedFunctions(env.NewFunction(overloads.Matches)))),
		cel.Function(overloads.Matches,
			cel.Overload(overloads.Matches, args, cel.BoolType), cel.MemberOverload(overloads.MatchesString, args, cel.BoolType), cel.SingletonBinaryBinding(matches)),
		cel.Variable("variables", cel.DynType), cel.Variable("status", cel.DynType),
	)
})

func matches(text, pattern ref.Val) ref.Val {
	p, err := cost.Compile(string(pattern.(types.String)))
	if err != nil {
		return types.NewErr("matches: %w", err)
	}
	found, _, err := p.Match(string(text.(types.String)), cost.Budget)
	if err != nil {
		return types.NewErr("matches: %w", err)
	}
	return types.Bool(found)
}

// Check is a compiled expression. It is safe for concurrent use.
type Check struct{ program cel.Program }

// Compile compiles an expression. Errors name the line and column.
func Compile(expression string) (Check, error) {
	if len(expression) > maxExpression {
		return Check{}, fmt.Errorf("it has %d KiB; at most %d are read", len(expression)>>10, maxExpression>>10)
	}
	checks, err := environment()
	if err != nil {
		return Check{}, err
	}
	ast, issues := checks.Compile(expression)
	if issues.Err() != nil {
		return Check{}, issues.Err()
	}
	if out := ast.OutputType(); !out.IsExactType(cel.BoolType) && !out.IsExactType(cel.DynType) {
		return Check{}, fmt.Errorf("it is %s; it has to be true or false", out)
	}
	program, err := checks.Program(ast, cel.CostLimit(maxCost), cel.InterruptCheckFrequency(100))
	return Check{program}, err
}

// Holds evaluates the check. variables and status are values of JSON; an empty status is an
// object without fields. Numbers are double.
func (c Check) Holds(ctx context.Context, variables, status any) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	input := map[string]any{}
	for name, value := range map[string]any{"variables": variables, "status": status} {
		text, err := json.Marshal(value)
		if err != nil {
			return false, err
		}
		object := map[string]any{}
		if err := json.Unmarshal(text, &object); err != nil {
			return false, err
		}
		input[name] = object
	}
	out, _, err := c.program.ContextEval(ctx, input)
	if err != nil {
		return false, err
	}
	holds, ok := out.Value().(bool)
	if !ok {
		return false, fmt.Errorf("it is %v; it has to be true or false", out.Value())
	}
	return holds, nil
}
