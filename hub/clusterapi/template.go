package clusterapi

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/aliases"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/rule"
	"github.com/axle-cd/axle/internal/strictyaml"
)

// The files of a template's folder.
const (
	templateFile = "template.yaml"
	schemaFile   = "schema.json"
	classFolder  = "class"
)

// The limits of a template.
const (
	maxFile    = 256 << 10
	maxFolder  = 1 << 20
	maxObjects = 100
	maxFiles   = 200
	maxDepth   = 8
	// longestName leaves room for the hash behind the name of an object.
	longestName = 63 - 1 - hashLength
)

// The kinds of Cluster API that this package knows.
const (
	clusterGroup   = "cluster.x-k8s.io"
	clusterVersion = clusterGroup + "/v1beta2"
	clusterKind    = "Cluster"
	classKind      = "ClusterClass"
)

// about is template.yaml.
type about struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Kinds are those that the folder makes, as Kind.group.
	Kinds []string `json:"kinds"`
	// Provider is whose credentials the template needs: the objects of the management
	// cluster with them, for people. Nothing is made of it.
	Provider struct {
		Name     string   `json:"name"`
		Identity string   `json:"identity"`
		Roles    []string `json:"roles"`
	} `json:"provider"`
	Checks []*check `json:"checks"`
}

// Template is a folder that was read and found good.
type Template struct {
	about  about
	schema *schema
	// class is the ClusterClass, and objects are it and what it names.
	class   object
	objects []object
}

// object is one of the folder.
type object struct {
	manifest.Object
	kind, name string
}

// groupKind is Kind.group.
func (o object) groupKind() string {
	if group := o.Key("").Group; group != "" {
		return o.kind + "." + group
	}
	return o.kind
}

// Read reads the files of a template's folder, by their paths below it. allowed are the
// kinds that an administrator lists. Errors are Unprocessable and name the file.
func Read(files map[string]string, allowed []string) (Template, error) {
	var t Template
	size := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if size += len(files[name]); len(files[name]) > maxFile || size > maxFolder {
			return t, wrong(name, "", "is too large: a file has at most %d KiB, and a template %d KiB", maxFile>>10, maxFolder>>10)
		}
		if ext := path.Ext(name); ext == ".yaml" || ext == ".yml" {
			if err := aliases.Check([]byte(files[name])); err != nil {
				return t, wrong(name, "", "%v", err)
			}
		}
	}
	for _, name := range []string{templateFile, schemaFile} {
		if _, there := files[name]; !there {
			return t, wrong(name, "", "is missing: a template's folder has %s, %s and %s/*.yaml", templateFile, schemaFile, classFolder)
		}
	}
	if err := strictyaml.Decode([]byte(files[templateFile]), &t.about); err != nil {
		return t, wrong(templateFile, "", "%v", err)
	}
	objects, err := classOf(files)
	if err != nil {
		return t, err
	}
	if err := t.about.check(objects, allowed); err != nil {
		return t, err
	}
	class, err := theClass(objects)
	if err != nil {
		return t, err
	}
	if t.schema, err = newSchema(files[schemaFile]); err != nil {
		return t, err
	}
	if err := cmp.Or(t.about.compile(), placesValues(class), t.schema.matches(class)); err != nil {
		return t, err
	}
	if err := nameByContent(objects); err != nil {
		return t, err
	}
	t.objects = objects
	t.class, err = theClass(objects)
	return t, err
}

// wrong is the error for a file, and for a field in it unless that is empty.
func wrong(file, field, format string, args ...any) error {
	if field != "" {
		file += ": " + field
	}
	return errcode.New(errcode.Unprocessable, "%s: "+format, append([]any{file}, args...)...)
}

// check says whether the folder makes only what it may.
func (a about) check(objects []object, allowed []string) error {
	if !rule.Label.Valid(a.Name) {
		return wrong(templateFile, "name", "%.80q is not a name; use %s", a.Name, rule.Label.Words)
	}
	made := clusterKind + "." + clusterGroup
	if !slices.Contains(allowed, made) {
		return wrong(templateFile, "kinds", "%s is not among the kinds that the cluster template allows; an administrator adds it there", made)
	}
	for _, o := range objects {
		kind := o.groupKind()
		switch {
		case kind == made:
			return wrong(o.Source, "kind", "%s is what the hub makes for each cluster; leave it out", made)
		case kind == "Secret":
			return wrong(o.Source, "kind", "a template has no Secrets: name one that is on the management cluster")
		case !slices.Contains(allowed, kind):
			return wrong(o.Source, "kind", "%s is not among the kinds that the cluster template allows (%s); an administrator adds it there", kind, strings.Join(allowed, ", "))
		case len(a.Kinds) > 0 && !slices.Contains(a.Kinds, kind):
			return wrong(o.Source, "kind", "%s is not among the kinds of %s", kind, templateFile)
		}
	}
	return nil
}

// theClass returns the one ClusterClass of a folder.
func theClass(objects []object) (object, error) {
	var class object
	for _, o := range objects {
		if o.groupKind() != classKind+"."+clusterGroup {
			continue
		}
		if class.Data != nil {
			return class, wrong(o.Source, "kind", "there is another ClusterClass in %s; a template has one", class.Source)
		}
		if class = o; o.Data["apiVersion"] != clusterVersion {
			return class, wrong(o.Source, "apiVersion", "%.80q is not read; use %s", o.Data["apiVersion"], clusterVersion)
		}
	}
	if class.Data == nil {
		return class, wrong(classFolder, "", "has no ClusterClass")
	}
	return class, nil
}
