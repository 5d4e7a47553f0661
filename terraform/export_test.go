package terraform

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// DataSourceNames are the names of the data sources of one object, and of lists.
func DataSourceNames() (singles, many []string) {
	for _, k := range all {
		if len(k.keys) > 0 && k.rows == nil {
			singles = append(singles, k.name)
		}
	}
	for _, l := range lists {
		many = append(many, l.name)
	}
	return singles, many
}

// ResourceNames are the kinds of resources, without axle_.
func ResourceNames(ctx context.Context) (names []string) {
	for _, made := range (&axle{}).Resources(ctx) {
		var answer resource.MetadataResponse
		made().Metadata(ctx, resource.MetadataRequest{ProviderTypeName: Type}, &answer)
		names = append(names, strings.TrimPrefix(answer.TypeName, Type+"_"))
	}
	return names
}
