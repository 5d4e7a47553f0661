package shape

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	dschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	rschema "github.com/hashicorp/terraform-plugin-framework/resource/schema"
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

func element(k Kind) attr.Type {
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
	says := n.Says
	switch {
	case n.Kind == Length && !strings.Contains(says, "15m"):
		says += " A duration such as `15m`."
	case len(n.OneOf) > 0 && !strings.Contains(says, n.OneOf[0]):
		says += " One of: " + strings.Join(n.OneOf, ", ") + "."
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
func Resource(all []*Node) map[string]rschema.Attribute {
	out := map[string]rschema.Attribute{}
	for _, n := range all {
		out[n.Name] = n.resource()
	}
	return out
}

func (n *Node) resource() rschema.Attribute {
	required, optional, computed := n.flags()
	keeps := n.Computed && !n.Derived
	switch n.Kind {
	case Bool:
		a := rschema.BoolAttribute{Required: required, Optional: optional, Computed: computed, WriteOnly: n.WriteOnly, MarkdownDescription: n.Docs()}
		if d, ok := n.Default.(bool); ok && !n.WriteOnly {
			a.Default = booldefault.StaticBool(d)
		}
		if keeps {
			a.PlanModifiers = append(a.PlanModifiers, boolplanmodifier.UseStateForUnknown())
		}
		if n.Replaces {
			a.PlanModifiers = append(a.PlanModifiers, boolplanmodifier.RequiresReplace())
		}
		return a
	case Number:
		a := rschema.Int64Attribute{Required: required, Optional: optional, Computed: computed, WriteOnly: n.WriteOnly, MarkdownDescription: n.Docs()}
		if d, ok := n.Default.(int64); ok && !n.WriteOnly {
			a.Default = int64default.StaticInt64(d)
		}
		if keeps {
			a.PlanModifiers = append(a.PlanModifiers, int64planmodifier.UseStateForUnknown())
		}
		if n.Replaces {
			a.PlanModifiers = append(a.PlanModifiers, int64planmodifier.RequiresReplace())
		}
		return a
	case List:
		a := rschema.ListAttribute{ElementType: element(n.Elem), Required: required, Optional: optional, Computed: computed, WriteOnly: n.WriteOnly, MarkdownDescription: n.Docs()}
		if keeps {
			a.PlanModifiers = append(a.PlanModifiers, listplanmodifier.UseStateForUnknown())
		}
		if n.Replaces {
			a.PlanModifiers = append(a.PlanModifiers, listplanmodifier.RequiresReplace())
		}
		return a
	case Set:
		a := rschema.SetAttribute{ElementType: element(n.Elem), Required: required, Optional: optional, Computed: computed, MarkdownDescription: n.Docs()}
		if n.check() != nil {
			a.Validators = append(a.Validators, each{n.check()})
		}
		if keeps {
			a.PlanModifiers = append(a.PlanModifiers, setplanmodifier.UseStateForUnknown())
		}
		if n.Replaces {
			a.PlanModifiers = append(a.PlanModifiers, setplanmodifier.RequiresReplace())
		}
		return a
	case Map:
		a := rschema.MapAttribute{ElementType: element(n.Elem), Required: required, Optional: optional, Computed: computed, WriteOnly: n.WriteOnly, MarkdownDescription: n.Docs()}
		if keeps {
			a.PlanModifiers = append(a.PlanModifiers, mapplanmodifier.UseStateForUnknown())
		}
		if n.Replaces {
			a.PlanModifiers = append(a.PlanModifiers, mapplanmodifier.RequiresReplace())
		}
		return a
	case Object:
		a := rschema.SingleNestedAttribute{Attributes: Resource(n.Children), Required: required, Optional: optional, Computed: computed, WriteOnly: n.WriteOnly, MarkdownDescription: n.Docs()}
		if keeps {
			a.PlanModifiers = append(a.PlanModifiers, objectplanmodifier.UseStateForUnknown())
		}
		if n.Replaces {
			a.PlanModifiers = append(a.PlanModifiers, objectplanmodifier.RequiresReplace())
		}
		return a
	case Objects:
		a := rschema.ListNestedAttribute{NestedObject: rschema.NestedAttributeObject{Attributes: Resource(n.Children)}, Required: required, Optional: optional, Computed: computed, WriteOnly: n.WriteOnly, MarkdownDescription: n.Docs()}
		if n.Replaces {
			a.PlanModifiers = append(a.PlanModifiers, listplanmodifier.RequiresReplace())
		}
		return a
	case ObjectMap:
		a := rschema.MapNestedAttribute{NestedObject: rschema.NestedAttributeObject{Attributes: Resource(n.Children)}, Required: required, Optional: optional, Computed: computed, WriteOnly: n.WriteOnly, MarkdownDescription: n.Docs()}
		if n.Replaces {
			a.PlanModifiers = append(a.PlanModifiers, mapplanmodifier.RequiresReplace())
		}
		return a
	}
	a := rschema.StringAttribute{Required: required, Optional: optional, Computed: computed, WriteOnly: n.WriteOnly, MarkdownDescription: n.Docs()}
	if check := n.check(); check != nil {
		a.Validators = []validator.String{checked{check}}
	}
	if d, ok := n.Default.(string); ok && !n.WriteOnly {
		a.Default = stringdefault.StaticString(d)
	}
	if n.SameAs != "" {
		a.PlanModifiers = append(a.PlanModifiers, sameAs{n.SameAs})
	}
	if keeps {
		a.PlanModifiers = append(a.PlanModifiers, stringplanmodifier.UseStateForUnknown())
	}
	if n.Replaces {
		a.PlanModifiers = append(a.PlanModifiers, stringplanmodifier.RequiresReplace())
	}
	return a
}

// DataSource returns the attributes for the schema of a data source. Those named in
// optional or required may, or must, be given.
func DataSource(all []*Node, optional, required []string) map[string]dschema.Attribute {
	out := map[string]dschema.Attribute{}
	for _, n := range all {
		if n.WriteOnly || n.VersionOf != "" {
			continue
		}
		o, r := slices.Contains(optional, n.Name), slices.Contains(required, n.Name)
		out[n.Name] = n.dataSource(r, o, !r)
	}
	return out
}

func (n *Node) dataSource(required, optional, computed bool) dschema.Attribute {
	docs := n.Docs()
	switch n.Kind {
	case Bool:
		return dschema.BoolAttribute{Required: required, Optional: optional, Computed: computed, MarkdownDescription: docs}
	case Number:
		return dschema.Int64Attribute{Required: required, Optional: optional, Computed: computed, MarkdownDescription: docs}
	case List:
		return dschema.ListAttribute{ElementType: element(n.Elem), Required: required, Optional: optional, Computed: computed, MarkdownDescription: docs}
	case Set:
		return dschema.SetAttribute{ElementType: element(n.Elem), Required: required, Optional: optional, Computed: computed, MarkdownDescription: docs}
	case Map:
		return dschema.MapAttribute{ElementType: element(n.Elem), Required: required, Optional: optional, Computed: computed, MarkdownDescription: docs}
	case Object:
		return dschema.SingleNestedAttribute{Attributes: DataSource(n.Children, nil, nil), Required: required, Optional: optional, Computed: computed, MarkdownDescription: docs}
	case Objects:
		return dschema.ListNestedAttribute{NestedObject: dschema.NestedAttributeObject{Attributes: DataSource(n.Children, nil, nil)}, Required: required, Optional: optional, Computed: computed, MarkdownDescription: docs}
	case ObjectMap:
		return dschema.MapNestedAttribute{NestedObject: dschema.NestedAttributeObject{Attributes: DataSource(n.Children, nil, nil)}, Required: required, Optional: optional, Computed: computed, MarkdownDescription: docs}
	}
	return dschema.StringAttribute{Required: required, Optional: optional, Computed: computed, MarkdownDescription: docs}
}

// check is what is checked of a text before anything is sent; nil is nothing.
func (n *Node) check() func(string) error {
	switch {
	case n.Check != nil:
		return n.Check
	case len(n.OneOf) > 0:
		return func(text string) error {
			if slices.Contains(n.OneOf, text) {
				return nil
			}
			return errcode.New(errcode.Invalid, "%q is none of %s", text, strings.Join(n.OneOf, ", "))
		}
	case n.Kind == Length:
		return func(text string) error {
			if _, err := time.ParseDuration(text); err != nil {
				return errcode.New(errcode.Invalid, "%q is not a duration such as 15m", text)
			}
			return nil
		}
	case n.JSON:
		return func(text string) error {
			if !sameJSON(text, text) {
				return errcode.New(errcode.Invalid, "it is not JSON; use jsonencode()")
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
		answer.Diagnostics.AddAttributeError(r.Path, "Invalid value", errcode.Message(err))
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
			answer.Diagnostics.AddAttributeError(r.Path, "Invalid value", errcode.Message(err))
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
