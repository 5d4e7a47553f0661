package managed

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/axle-cd/axle/internal/errcode"
)

// Tool is the kind of program that manages an object.
type Tool string

// The tools. CLI and Console are manual: a person decides each write. The others
// declare objects, and write them again when they differ. The empty tool is nobody:
// the object is older than this record, or the hub writes without a request.
const (
	CLI       Tool = "cli"
	Console   Tool = "console"
	Operator  Tool = "operator"
	Terraform Tool = "terraform"
	Apply     Tool = "apply"
	Hub       Tool = "hub"
)

// maxID limits the id of a manager, in bytes. The longest is that of the operator:
// a uid, a kind with its group, a namespace and a name.
const maxID = 500

// Manager is who manages an object. The zero value is nobody.
type Manager struct {
	Tool Tool
	// ID distinguishes the managers of one tool. It is empty for manual tools. For
	// the operator it is CLUSTER/KIND.GROUP/NAMESPACE/NAME.
	ID string
}

// Declares reports whether the manager writes its objects again when they differ.
func (m Manager) Declares() bool { return m.Tool != "" && !m.manual() }

func (m Manager) manual() bool { return m.Tool == CLI || m.Tool == Console }

// Check returns Invalid when no caller can be the manager.
func (m Manager) Check() error {
	invalid := func(format string, args ...any) error {
		return errcode.New(errcode.Invalid, "management.by."+format, args...)
	}
	switch m.Tool {
	case CLI, Console:
		if m.ID != "" {
			return invalid("id: is not for the tool %s: all people are one manager; leave it out", m.Tool)
		}
	case Operator, Terraform, Apply:
		if m.ID == "" {
			return invalid("id: is missing; it tells the managers of the tool %s apart", m.Tool)
		}
	case Hub:
		return invalid("tool: hub is for what the hub itself creates; use operator, terraform, apply, cli or console")
	default:
		return invalid("tool: %.40q is not known; use operator, terraform, apply, cli or console", m.Tool)
	}
	if len(m.ID) > maxID {
		return invalid("id: has %d bytes; at most %d are allowed", len(m.ID), maxID)
	}
	if strings.ContainsFunc(m.ID, unicode.IsControl) || strings.ToValidUTF8(m.ID, "") != m.ID {
		return invalid("id: has control characters, or is not UTF-8")
	}
	return nil
}

// OfCluster reports whether an object of a management cluster declares what it manages.
func (m Manager) OfCluster() bool { return m.Tool == Operator }

// String is the manager for people, as the end of "is managed by".
func (m Manager) String() string {
	switch m.Tool {
	case "":
		return "nobody"
	case CLI:
		return "people (CLI)"
	case Console:
		return "people (console)"
	case Operator:
		return "the operator (" + m.resource() + ")"
	case Terraform:
		return "Terraform (manager " + m.ID + ")"
	case Apply:
		return "axle apply (set " + m.ID + ")"
	case Hub:
		return "the hub (" + m.ID + ")"
	}
	return string(m.Tool) + " (" + m.ID + ")"
}

// resource shortens the id of the operator to what people call the custom resource. An
// id of another form is returned unchanged.
func (m Manager) resource() string {
	if r, ok := m.Resource(); ok {
		return r.String()
	}
	return m.ID
}

// Resource is a custom resource that manages an object of the hub.
type Resource struct {
	// ClusterUID is that of the cluster in which the resource is.
	ClusterUID string
	Group      string
	Kind       string
	// Namespace is empty for a resource of the cluster.
	Namespace string
	Name      string
}

// String is what people call it: "ServiceDeployment platform/web".
func (r Resource) String() string {
	return r.Kind + " " + strings.TrimPrefix(r.Namespace+"/"+r.Name, "/")
}

// Resource is the custom resource that an operator writes for; false for other managers.
func (m Manager) Resource() (Resource, bool) {
	parts := strings.Split(m.ID, "/")
	if m.Tool != Operator || len(parts) != 4 {
		return Resource{}, false
	}
	kind, group, _ := strings.Cut(parts[1], ".")
	return Resource{parts[0], group, kind, parts[2], parts[3]}, true
}

// Caller is what a request says about who makes it.
type Caller struct {
	// By is who becomes the manager of what the request creates or takes over. The
	// zero value is code of the hub.
	By Manager
	// TakeOver makes By the manager of an object that another one manages.
	TakeOver bool
}

type callerKey struct{}

// request is what the context carries. Write notes in it whom an object was taken
// from; a request writes one object at a time.
type request struct {
	Caller
	from *Manager
}

// WithCaller returns a context for the writes of one request. Every declared object
// is written for a caller, and nothing between the API and the row reads it.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, &request{Caller: c})
}

// CallerOf returns the caller of the context, zero when there is none.
func CallerOf(ctx context.Context) Caller {
	if r, ok := ctx.Value(callerKey{}).(*request); ok {
		return r.Caller
	}
	return Caller{}
}

// Facts are the caller of the context, and whom it took an object from, for the audit
// log: "terraform default". Nil for a request that writes no declared object.
func Facts(ctx context.Context) map[string]string {
	r, ok := ctx.Value(callerKey{}).(*request)
	if !ok {
		return nil
	}
	facts := map[string]string{"manager": r.By.key()}
	if r.from != nil {
		facts["taken_over_from"] = r.from.key()
	}
	return facts
}

func (m Manager) key() string {
	return strings.TrimSpace(cmp.Or(string(m.Tool), Nobody) + " " + m.ID)
}

// Refused is the reason for a Conflict between managers.
type Refused struct {
	// By is the current manager.
	By     Manager
	caller Manager
}

// Error is the end of a sentence that begins with the object.
func (r *Refused) Error() string {
	by := "is managed by " + r.By.String() + ": "
	if r.By.Tool == Hub {
		return by + "change the global service or managed namespace instead"
	}
	if r.By.Declares() {
		by += "change it there, or "
	}
	switch r.caller.Tool {
	case Operator:
		return by + `take it over with the annotation axle-cd.github.io/adopt: "true"`
	case Terraform:
		return by + "take it over with terraform import"
	}
	return by + "take it over with --take-over"
}

// Decide returns the manager of an object after a write by caller, or a *Refused.
func Decide(current, caller Manager, takeOver bool) (next Manager, err error) {
	switch {
	case current == caller:
		return current, nil
	case current.Tool == Hub:
	case !current.Declares() && !caller.Declares():
		if current.Tool == "" {
			return caller, nil
		}
		return current, nil
	case takeOver:
		return caller, nil
	}
	return current, &Refused{By: current, caller: caller}
}

// Write decides about one write of an object by the caller of the context. changes
// is false when the write leaves the object as it is: then it is nobody's business,
// unless it takes the object over. The error is a Conflict that begins with the
// object, such as "service edge-1/web".
func Write(ctx context.Context, object string, current Manager, changes bool) (next Manager, err error) {
	c := CallerOf(ctx)
	if !changes && !c.TakeOver {
		return current, nil
	}
	next, err = Decide(current, c.By, c.TakeOver)
	if err != nil {
		return current, errcode.New(errcode.Conflict, "%s %w", object, err)
	}
	if r, ok := ctx.Value(callerKey{}).(*request); ok && TookOver(current, next) != "" {
		r.from = &current
	}
	return next, nil
}

// Created returns the manager of a new object.
func Created(ctx context.Context) Manager { return CallerOf(ctx).By }

// Nobody is what lists are filtered by for objects without a manager.
const Nobody = "none"

// Filter checks the tool that a list is filtered by. Empty selects all objects.
func Filter(tool string) error {
	switch Tool(tool) {
	case "", Nobody, CLI, Console, Operator, Terraform, Apply, Hub:
		return nil
	}
	return errcode.New(errcode.Invalid, "managedByTool: %.40q is not known; use operator, terraform, apply, hub, cli, console or none", tool)
}

// Selects reports whether a list with the filter has the object.
func (m Manager) Selects(filter string) bool {
	return filter == "" || string(m.Tool) == filter || filter == Nobody && m.Tool == ""
}

// TookOver is the message of the event of a write that took an object over, and
// empty for others. That an object gets its first manager, a manual one, is none.
func TookOver(before, after Manager) string {
	if before == after || before.Tool == "" && !after.Declares() {
		return ""
	}
	return fmt.Sprintf("taken over by %s from %s", after, before)
}
