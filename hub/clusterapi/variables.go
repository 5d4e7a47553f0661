package clusterapi

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/clustertopology"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/similar"
)

const (
	maxSchema = 64 << 10
	// maxVariables limits the variables of one cluster, as JSON.
	maxVariables = 64 << 10
	// maxDecoded limits what one of these texts becomes in memory.
	maxDecoded = 4 << 20
	// maxMistakes are named in one error.
	maxMistakes = 5
)

// kubernetesVersion is that of Cluster API.
var kubernetesVersion = regexp.MustCompile(`^v(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})([-+][0-9A-Za-z.+-]{1,40})?$`)

// schema is that of a template's variables.
type schema struct {
	compiled *jsonschema.Schema
	// size is how many schemas it has, with a copy for each reference.
	size int
	// document is the schema as JSON, with exact numbers.
	document map[string]any
	// properties are the variables, by name, and ofPools those of a node pool.
	properties, ofPools map[string]property
}

// property is what this package reads of a variable's schema.
type property struct {
	Type  any `json:"type"`
	Items struct {
		Properties map[string]property `json:"properties"`
	} `json:"items"`
}

// isText reports whether a variable takes texts.
func (p property) isText() bool {
	types, _ := p.Type.([]any)
	return p.Type == "string" || slices.Contains(types, any("string"))
}

// decode decodes JSON with exact numbers.
func decode(text string) (any, error) {
	if err := bounded.CheckJSON([]byte(text), nil, maxDecoded); err != nil {
		return nil, err
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		_, err = plainNumbers(v)
	}
	return v, err
}

// nowhere refuses every schema that is not in the file itself.
type nowhere struct{}

// Load implements jsonschema.URLLoader.
func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("%.200s is not in the file, and nothing is fetched for a schema; copy what is needed into $defs", url)
}

// schemaURL names the schema in errors of the library.
const schemaURL = "https://axle.invalid/" + schemaFile

func newSchema(text string) (*schema, error) {
	if len(text) > maxSchema {
		return nil, wrong(schemaFile, "", "has %d KiB; at most %d are read", len(text)>>10, maxSchema>>10)
	}
	document, err := decode(text)
	if err != nil {
		return nil, wrong(schemaFile, "", "is not JSON: %v", err)
	}
	var top struct {
		Type       any                 `json:"type"`
		Properties map[string]property `json:"properties"`
	}
	if err := bounded.JSON([]byte(text), &top, maxDecoded); err != nil {
		return nil, wrong(schemaFile, "properties", "each variable has an object: %v", err)
	}
	if top.Type != "object" {
		return nil, wrong(schemaFile, "type", "is not object: the variables of a cluster are an object")
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(nowhere{})
	compiler.UseRegexpEngine((&expressions{}).compile)
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil, wrong(schemaFile, "", "%v", err)
	}
	s := &schema{properties: top.Properties, ofPools: top.Properties[nodePools].Items.Properties}
	s.document, _ = document.(map[string]any)
	if s.compiled, err = compiler.Compile(schemaURL); err != nil {
		return nil, wrong(schemaFile, "", "%s", strings.ReplaceAll(err.Error(), schemaURL, schemaFile))
	}
	if s.size, err = (&expansion{map[*jsonschema.Schema]int{}}).size(s.compiled); err != nil {
		return nil, wrong(schemaFile, "", "%v", err)
	}
	return s, nil
}

// nodePools is the variable with the pools of machines, whose properties may be variables of
// the ClusterClass as well.
const nodePools = "nodePools"

// matches requires that each variable of the schema has a place in the Cluster, as a variable
// of the ClusterClass or by its name, and that the ClusterClass requires no others.
func (s *schema) matches(class object) error {
	spec, _ := class.Data["spec"].(map[string]any)
	takes := map[string]bool{}
	for _, one := range list(spec["variables"]) {
		name, _ := one["name"].(string)
		if _, pool := s.ofPools[name]; one["required"] == true && !pool && !s.has(name) {
			return wrong(schemaFile, "properties", "variable %q is required by the ClusterClass in %s and is not here", name, class.Source)
		}
		if name == "builtin" || strings.Contains(name, ".") {
			return wrong(class.Source, "spec.variables", "%.80q is no name that Cluster API takes: builtin is its own, and a dot leads into a variable", name)
		}
		takes[name] = true
	}
	if !s.has("version") {
		return wrong(schemaFile, "properties", "variable \"version\" is missing: a cluster has a version of Kubernetes")
	}
	for _, name := range slices.Sorted(maps.Keys(s.properties)) {
		if !takes[name] && !slices.Contains(clustertopology.Variables, name) {
			return unplaced(class, "variable", name, clustertopology.Variables)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.ofPools)) {
		if !takes[name] && !slices.Contains(clustertopology.OfPools, name) {
			return unplaced(class, "property of "+nodePools, name, clustertopology.OfPools)
		}
	}
	return nil
}

func unplaced(class object, what, name string, placed []string) error {
	return wrong(class.Source, "spec.variables", "%s %q of %s is not a variable of the ClusterClass, and none of %s", what, name, schemaFile, strings.Join(placed, ", "))
}

func (s *schema) has(name string) bool {
	_, has := s.properties[name]
	return has
}

// given are the variables that somebody gave, the texts read by their schema. Their names are
// those of the schema.
func (s *schema) given(w Wish) (map[string]any, error) {
	size := len(w.Variables)
	for name, text := range w.Texts {
		size += len(name) + len(text)
	}
	if size > maxVariables {
		return nil, errcode.New(errcode.Invalid, "variables: have %d KiB; at most %d are taken", size>>10, maxVariables>>10)
	}
	values := map[string]any{}
	if w.Variables != "" {
		decoded, err := decode(w.Variables)
		object, isObject := decoded.(map[string]any)
		switch {
		case errors.Is(err, bounded.ErrTooLarge) || errors.Is(err, errNumber):
			return nil, errcode.New(errcode.Invalid, "variables: %w", err)
		case err != nil || !isObject:
			return nil, errcode.New(errcode.Invalid, "variables: is not a JSON object")
		}
		values = object
	}
	for _, name := range slices.Sorted(maps.Keys(w.Texts)) {
		if _, twice := values[name]; twice && !w.Replaces {
			return nil, errcode.New(errcode.Invalid, "variables.%s: is given twice", name)
		}
		value, err := s.read(name, w.Texts[name])
		if err != nil {
			return nil, err
		}
		values[name] = value
	}
	if w.Pool != nil {
		if err := s.scale(values, *w.Pool); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !s.has(name) {
			return nil, unknown(name, "variables."+name, "a variable", s.properties)
		}
	}
	for i, pool := range list(values[nodePools]) {
		for _, name := range slices.Sorted(maps.Keys(pool)) {
			if _, has := s.ofPools[name]; !has {
				return nil, unknown(name, fmt.Sprintf("variables.%s.%d.%s", nodePools, i, name), "a property of node pools", s.ofPools)
			}
		}
	}
	return values, nil
}

// values are the variables of a cluster: the given ones, and the defaults of the others, in
// node pools as well.
func (s *schema) values(given map[string]any) (map[string]any, error) {
	values, _ := clustertopology.Complete(s.document, given).(map[string]any)
	return values, s.validate(values)
}

// lower reports whether one version of Kubernetes is lower than another. Both are valid.
func lower(version, than string) bool {
	a, b := kubernetesVersion.FindStringSubmatch(version), kubernetesVersion.FindStringSubmatch(than)
	for i := 1; i <= 3 && len(a) > 3 && len(b) > 3; i++ {
		if n, m := len(a[i])-len(b[i]), strings.Compare(a[i], b[i]); n != 0 || m != 0 {
			return n < 0 || n == 0 && m < 0
		}
	}
	return false
}

// read reads the text of a variable as what its schema takes.
func (s *schema) read(name, text string) (any, error) {
	if s.properties[name].isText() {
		return text, nil
	}
	value, err := decode(text)
	switch {
	case errors.Is(err, bounded.ErrTooLarge):
		return nil, errcode.New(errcode.Invalid, "variables.%s: %w", name, err)
	case err == nil:
		return value, nil
	case s.properties[name].Type == nil:
		return text, nil
	}
	return nil, errcode.New(errcode.Invalid, "variables.%s: %.80q is not JSON, and the template takes no text for it", name, text)
}

// unknown is the error for a name that the schema has not, even where it allows more: what a
// template does not name is not for whoever makes clusters.
func unknown(name, at, what string, properties map[string]property) error {
	known := slices.Sorted(maps.Keys(properties))
	meant := "the template has " + strings.Join(known, ", ")
	if near := similar.To(name, known); near != "" {
		meant = "did you mean " + near + "?"
	}
	if len(known) == 0 {
		meant = "the template has none"
	}
	return errcode.New(errcode.Invalid, "%.160s: is not %s of the template; %s", at, what, meant)
}

// validate returns an Invalid error that names the variables that the schema refuses.
func (s *schema) validate(values map[string]any) error {
	count, err := plainNumbers(values)
	if err == nil && count > maxValues {
		err = fmt.Errorf("with the defaults of the template they are larger than %d MiB; give fewer", maxValues*ofText>>20)
	}
	if err == nil && count*s.size > maxTried {
		err = fmt.Errorf("%d values and %d schemas of the template are too many to check; give fewer", count, s.size)
	}
	if err != nil {
		return errcode.New(errcode.Invalid, "variables: %w", err)
	}
	err = s.compiled.Validate(values)
	var refused *jsonschema.ValidationError
	if err == nil || !errors.As(err, &refused) {
		return err
	}
	mistakes := mistakesIn(refused, values)
	return errcode.New(errcode.Invalid, "%s", strings.Join(mistakes[:min(len(mistakes), maxMistakes)], "; "))
}
