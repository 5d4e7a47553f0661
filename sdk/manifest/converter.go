package manifest

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/internal/errcode"
)

// converter reads and writes the manifests of one kind of deployments.plural.sh.
type converter struct {
	kind string
	// read is nil for a kind that the switch in item has.
	read func(d own, values Values) (*Item, error)
	// export makes the object that declares what the hub has; nil for a kind that is not
	// exported.
	export func(e Exporter, have proto.Message) (Exported, error)
	// stored are the names of the secrets that the hub has of an object.
	stored func(have proto.Message) []string
	// keeps makes an item keep the secrets in Stored, and reports whether it knows them all;
	// secrets says which there are.
	keeps   func(i *Item) bool
	secrets string
}

// converters are in the order in which objects need each other.
var converters = slices.Concat([]converter{
	{kind: "Project", export: exports(Exporter.Project)},
	{kind: "GitRepository", export: exports(Exporter.Repository), keeps: keepsLogin, secrets: storedLogin},
	{kind: "HelmRepository", export: exports(Exporter.Repository), keeps: keepsLogin, secrets: storedLogin},
}, storedConverters(), []converter{
	{kind: "Cluster", export: exports(Exporter.Cluster)},
	{kind: "ServiceContext", export: exports(Exporter.Context), keeps: keepsValues},
	{kind: "ManagedNamespace", export: exports(Exporter.ManagedNamespace)},
	sinkConverter, routerConverter,
	{kind: "GlobalService", export: exports(Exporter.Global)},
	{kind: "ServiceDeployment", export: exports(Exporter.Service)},
})

// storedConverters are those of the kinds in the hub's table of objects.
func storedConverters() (all []converter) {
	for _, k := range object.Stored() {
		all = append(all, converter{kind: k.Name, export: func(e Exporter, have proto.Message) (Exported, error) { return e.Described(k, have) }})
	}
	return all
}

// ExportedKinds are the kinds that an Exporter makes.
var ExportedKinds = exportedKinds()

func exportedKinds() (kinds []string) {
	for _, c := range converters {
		if c.export != nil {
			kinds = append(kinds, c.kind)
		}
	}
	return kinds
}

// exports is an export of a message of one type.
func exports[M proto.Message](export func(Exporter, M) (Exported, error)) func(Exporter, proto.Message) (Exported, error) {
	return func(e Exporter, have proto.Message) (Exported, error) {
		m, ok := have.(M)
		if !ok {
			return Exported{}, errcode.New(errcode.Internal, "%T is no object of the kind", have)
		}
		return export(e, m)
	}
}

// Object exports an object of a kind as the hub's answers have it.
func (e Exporter) Object(kind string, have proto.Message) (Exported, error) {
	c, ok := converterOf(kind)
	if !ok || c.export == nil {
		return Exported{}, errcode.New(errcode.Internal, "there are no manifests of the kind %s", kind)
	}
	return c.export(e, have)
}

func converterOf(kind string) (converter, bool) {
	i := slices.IndexFunc(converters, func(c converter) bool { return c.kind == kind })
	if i < 0 {
		return converter{}, false
	}
	return converters[i], true
}
