package shape

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/boolplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/mapplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/setplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/axle-cd/axle/internal/errcode"
)

// Element is the type of the elements of a List, Set or Map.
func Element(k Kind) attr.Type {
	switch k {
	case Bool:
		return types.BoolType
	case Number:
		return types.Int64Type
	}
	return types.StringType
}

// Docs is the text about an attribute.
func (n *Node) Docs() string {
	says := n.Text
	switch {
	case n.Kind == Length && !strings.Contains(says, "15m"):
		says += " A duration such as `15m`."
	case len(n.Enum) > 0 && !strings.Contains(says, n.Enum[0]):
		says += " One of: " + strings.Join(n.Enum, ", ") + "."
	}
	if n.SameAs != "" {
		says += fmt.Sprintf(" The default is `%s`.", n.SameAs)
	}
	if n.Default != nil {
		says += fmt.Sprintf(" The default is `%v`.", n.Default)
	}
	return strings.TrimSpace(says)
}

// flags are what all attributes have in common.
func (n *Node) flags() (required, optional, computed bool) {
	if n.ReadOnly {
		return false, false, true
	}
	computed = n.Computed || n.Derived || n.Default != nil || n.SameAs != ""
	return n.Required, !n.Required, computed && !n.WriteOnly
}

// Resource returns the attributes for the schema of a resource.
func Resource(all []*Node) map[string]schema.Attribute {
	out := map[string]schema.Attribute{}
	for _, n := range all {
		out[n.Name] = n.resource()
	}
	return out
}

func (n *Node) resource() schema.Attribute {
	switch n.Kind {
	case Bool, Number:
		return n.number()
	case List, Set, Map:
		return n.collection()
	case Object, Objects, ObjectMap:
		return n.nested()
	}
	return n.text()
}

func (n *Node) keeps() bool { return n.Computed && !n.Derived }

func (n *Node) number() schema.Attribute {
	required, optional, computed := n.flags()
	if n.Kind == Bool {
		a := schema.BoolAttribute{Required: required, Optional: optional, Computed: computed, WriteOnly: n.WriteOnly, MarkdownDescription: n.Docs()}
		if d, ok := n.Default.(bool); ok && !n.WriteOnly {
			a.Default = booldefault.StaticBool(d)
		}
		if n.keeps() {
			a.PlanModifiers = append(a.PlanModifiers, boolplanmodifier.UseStateForUnknown())
		}
		if n.Immutable {
			a.PlanModifiers = append(a.PlanModifiers, boolplanmodifier.RequiresReplace())
		}
		return a
	}
	a := schema.Int64Attribute{Required: required, Optional: optional, Computed: computed, WriteOnly: n.WriteOnly, MarkdownDescription: n.Docs()}
	if d, ok := n.Default.(int64); ok && !n.WriteOnly {
		a.Default = int64default.StaticInt64(d)
	}
	if n.keeps() {
		a.PlanModifiers = append(a.PlanModifiers, int64planmodifier.UseStateForUnknown())
	}
	if n.Immutable {
		a.PlanModifiers = append(a.PlanModifiers, int64planmodifier.RequiresReplace())
	}
	return a
}

func (n *Node) collection() schema.Attribute {
	required, optional, computed := n.flags()
	switch n.Kind {
	case List:
		a := schema.ListAttribute{ElementType: Element(n.Elem), Required: required, Optional: optional, Computed: computed, WriteOnly: n.WriteOnly, MarkdownDescription: n.Docs()}
		if n.keeps() {
			a.PlanModifiers = append(a.PlanModifiers, listplanmodifier.UseStateForUnknown())
		}
		if n.Immutable {
			a.PlanModifiers = append(a.PlanModifiers, listplanmodifier.RequiresReplace())
		}
		return a
	case Set:
		a := schema.SetAttribute{ElementType: Element(n.Elem), Required: required, Optional: optional, Computed: computed, MarkdownDescription: n.Docs()}
		if n.Check() != nil {
			a.Validators = append(a.Validators, each{n.Check()})
		}
		if n.keeps() {
			a.PlanModifiers = append(a.PlanModifiers, setplanmodifier.UseStateForUnknown())
		}
		if n.Immutable {
			a.PlanModifiers = append(a.PlanModifiers, setplanmodifier.RequiresReplace())
		}
		return a
	}
	a := schema.MapAttribute{ElementType: Element(n.Elem), Required: required, Optional: optional, Computed: computed, WriteOnly: n.WriteOnly, MarkdownDescription: n.Docs()}
	if n.keeps() {
		a.PlanModifiers = append(a.PlanModifiers, mapplanmodifier.UseStateForUnknown())
	}
	if n.Immutable {
		a.PlanModifiers = append(a.PlanModifiers, mapplanmodifier.RequiresReplace())
	}
	return a
}

func (n *Node) nested() schema.Attribute {
	required, optional, computed := n.flags()
	switch n.Kind {
	case Object:
		a := schema.SingleNestedAttribute{Attributes: Resource(n.Children), Required: required, Optional: optional, Computed: computed, WriteOnly: n.WriteOnly, MarkdownDescription: n.Docs()}
		if n.keeps() {
			a.PlanModifiers = append(a.PlanModifiers, objectplanmodifier.UseStateForUnknown())
		}
		if n.Immutable {
			a.PlanModifiers = append(a.PlanModifiers, objectplanmodifier.RequiresReplace())
		}
		return a
	case Objects:
		a := schema.ListNestedAttribute{NestedObject: schema.NestedAttributeObject{Attributes: Resource(n.Children)}, Required: required, Optional: optional, Computed: computed, WriteOnly: n.WriteOnly, MarkdownDescription: n.Docs()}
		if n.Immutable {
			a.PlanModifiers = append(a.PlanModifiers, listplanmodifier.RequiresReplace())
		}
		return a
	}
	a := schema.MapNestedAttribute{NestedObject: schema.NestedAttributeObject{Attributes: Resource(n.Children)}, Required: required, Optional: optional, Computed: computed, WriteOnly: n.WriteOnly, MarkdownDescription: n.Docs()}
	if n.Immutable {
		a.PlanModifiers = append(a.PlanModifiers, mapplanmodifier.RequiresReplace())
	}
	return a
}

func (n *Node) text() schema.Attribute {
	required, optional, computed := n.flags()
	a := schema.StringAttribute{Required: required, Optional: optional, Computed: computed, WriteOnly: n.WriteOnly, MarkdownDescription: n.Docs()}
	if check := n.Check(); check != nil {
		a.Validators = []validator.String{checked{check}}
	}
	if d, ok := n.Default.(string); ok && !n.WriteOnly {
		a.Default = stringdefault.StaticString(d)
	}
	if n.SameAs != "" {
		a.PlanModifiers = append(a.PlanModifiers, sameAs{n.SameAs})
	}
	if n.keeps() {
		a.PlanModifiers = append(a.PlanModifiers, stringplanmodifier.UseStateForUnknown())
	}
	switch {
	case n.Immutable && n.Declared:
		a.PlanModifiers = append(a.PlanModifiers, stringplanmodifier.RequiresReplaceIf(func(_ context.Context, r planmodifier.StringRequest, answer *stringplanmodifier.RequiresReplaceIfFuncResponse) {
			answer.RequiresReplace = !r.StateValue.IsNull()
		}, declaredLater, declaredLater))
	case n.Immutable:
		a.PlanModifiers = append(a.PlanModifiers, stringplanmodifier.RequiresReplace())
	}
	return a
}

// declaredLater says when a change of an attribute of Declared makes another object.
const declaredLater = "Another value makes another object. An object that was imported gets its first value without that."

// Check is what is checked of a text before anything is sent; nil is nothing.
func (n *Node) Check() func(string) error {
	switch {
	case n.Rule != nil:
		return func(text string) error {
			if n.Rule.Valid(text) {
				return nil
			}
			return invalid("%.80q is not a name; use %s", text, n.Rule.Words)
		}
	case n.Format != "":
		return formats[n.Format]
	case len(n.Enum) > 0:
		return func(text string) error {
			if slices.Contains(n.Enum, text) {
				return nil
			}
			return invalid("%q is none of %s", text, strings.Join(n.Enum, ", "))
		}
	case n.Kind == Length:
		return func(text string) error {
			if _, err := time.ParseDuration(text); err != nil {
				return invalid("%q is not a duration such as 15m", text)
			}
			return nil
		}
	case n.JSON:
		return func(text string) error {
			if !sameJSON(text, text) {
				return invalid("it is not JSON; use jsonencode()")
			}
			return nil
		}
	}
	return nil
}

// checked validates a text that is known.
type checked struct{ check func(string) error }

func (checked) Description(context.Context) string         { return "must be valid" }
func (checked) MarkdownDescription(context.Context) string { return "must be valid" }

// ValidateString implements validator.String.
func (c checked) ValidateString(_ context.Context, r validator.StringRequest, answer *validator.StringResponse) {
	if r.ConfigValue.IsNull() || r.ConfigValue.IsUnknown() {
		return
	}
	if err := c.check(r.ConfigValue.ValueString()); err != nil {
		answer.Diagnostics.AddAttributeError(r.Path, "Invalid value", errcode.Text(err))
	}
}

// each validates the texts of a set.
type each struct{ check func(string) error }

func (each) Description(context.Context) string         { return "must be valid" }
func (each) MarkdownDescription(context.Context) string { return "must be valid" }

// ValidateSet implements validator.Set.
func (c each) ValidateSet(_ context.Context, r validator.SetRequest, answer *validator.SetResponse) {
	for _, one := range r.ConfigValue.Elements() {
		text, ok := one.(types.String)
		if !ok || text.IsNull() || text.IsUnknown() {
			continue
		}
		if err := c.check(text.ValueString()); err != nil {
			answer.Diagnostics.AddAttributeError(r.Path, "Invalid value", errcode.Text(err))
		}
	}
}

// sameAs plans the value of another attribute of the resource.
type sameAs struct{ attribute string }

func (s sameAs) Description(context.Context) string { return "is " + s.attribute + " by default" }
func (s sameAs) MarkdownDescription(context.Context) string {
	return "is " + s.attribute + " by default"
}

// PlanModifyString implements planmodifier.String.
func (s sameAs) PlanModifyString(ctx context.Context, r planmodifier.StringRequest, answer *planmodifier.StringResponse) {
	if !r.ConfigValue.IsNull() {
		return
	}
	if len(r.Path.ParentPath().Steps()) > 0 {
		answer.PlanValue = types.StringNull()
		return
	}
	answer.Diagnostics.Append(r.Plan.GetAttribute(ctx, path.Root(s.attribute), &answer.PlanValue)...)
}

// Checked validates a text with a function.
func Checked(check func(string) error) validator.String { return checked{check} }
