package bin

// Program is a program in one of its builds.
type Program struct {
	Name string
	Options
}

// List is what tests start, in all builds that they ask for. Who asks for another one adds
// it here.
var List = []Program{
	{Name: "axle"},
	{Name: "axle-hub"},
	{Name: "axle-agent"},
	{Name: "axle-operator"},
	{Name: "axle-render"},
	{Name: "axle-render-rare"},
	{Name: "terraform-provider-axle"},
	{"page", Options{Package: "./test/proxy/testdata/page"}},
	{"hello", Options{Package: "./test/world/testdata/hello"}},
	{"guest", Options{Package: "./test/node/guest"}},
	{"postgres", Options{Package: "./test/node/postgres"}},
	{"greeter", Options{Package: "./test/kube/testdata/greeter"}},
	{"printer", Options{Package: "./render/rendertest/testdata/printer"}},
	{"printer", Options{Package: "./render/rendertest/testdata/printer", Target: "wasip1/wasm"}},
	{"_module", Options{Package: "./examples/renderers/_module", Target: "wasip1/wasm"}},
	{"helm", Options{Package: "helm.sh/helm/v4/cmd/helm", Module: "test/goldens"}},
	// What ships, for tests of the console.
	{"axle-hub", Options{Pages: Shipped}},
	{"axle-hub", Options{Pages: AnyStyle}}, // made of the one above
	// They say whether they are at rest, and the hub's clock may be off.
	{"axle-hub", Options{Tags: []string{"testbed"}}},
	{"axle-agent", Options{Tags: []string{"testbed"}}},
	// Upgrades to the next version, and of an agent.
	{"axle", Options{Version: "0.2.0"}},
	{"axle-hub", Options{Version: "0.2.0"}},
	{"axle-agent", Options{Version: "2.0.0"}},
	// Terraform finds the provider in a folder of a release.
	{"terraform-provider-axle", Options{Version: "1.4.2"}},
}
