// Package data makes the attributes of data sources of those of package shape. Package
// terraform calls it. It has no state.
package data

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"

	"github.com/axle-cd/axle/terraform/shape"
)

// Attributes returns the attributes for the schema of a data source. Those named in
// optional or required may, or must, be given.
func Attributes(all []*shape.Node, optional, required []string) map[string]schema.Attribute {
	out := map[string]schema.Attribute{}
	for _, n := range all {
		if n.WriteOnly || n.VersionOf != "" {
			continue
		}
		o, r := slices.Contains(optional, n.Name), slices.Contains(required, n.Name)
		out[n.Name] = attribute(n, r, o, !r)
	}
	return out
}

func attribute(n *shape.Node, required, optional, computed bool) schema.Attribute {
	docs := n.Docs()
	switch n.Kind {
	case shape.Bool:
		return schema.BoolAttribute{Required: required, Optional: optional, Computed: computed, MarkdownDescription: docs}
	case shape.Number:
		return schema.Int64Attribute{Required: required, Optional: optional, Computed: computed, MarkdownDescription: docs}
	case shape.List:
		return schema.ListAttribute{ElementType: shape.Element(n.Elem), Required: required, Optional: optional, Computed: computed, MarkdownDescription: docs}
	case shape.Set:
		return schema.SetAttribute{ElementType: shape.Element(n.Elem), Required: required, Optional: optional, Computed: computed, MarkdownDescription: docs}
	case shape.Map:
		return schema.MapAttribute{ElementType: shape.Element(n.Elem), Required: required, Optional: optional, Computed: computed, MarkdownDescription: docs}
	case shape.Object:
		return schema.SingleNestedAttribute{Attributes: Attributes(n.Children, nil, nil), Required: required, Optional: optional, Computed: computed, MarkdownDescription: docs}
	case shape.Objects:
		return schema.ListNestedAttribute{NestedObject: schema.NestedAttributeObject{Attributes: Attributes(n.Children, nil, nil)}, Required: required, Optional: optional, Computed: computed, MarkdownDescription: docs}
	case shape.ObjectMap:
		return schema.MapNestedAttribute{NestedObject: schema.NestedAttributeObject{Attributes: Attributes(n.Children, nil, nil)}, Required: required, Optional: optional, Computed: computed, MarkdownDescription: docs}
	}
	return schema.StringAttribute{Required: required, Optional: optional, Computed: computed, MarkdownDescription: docs}
}
