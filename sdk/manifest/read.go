package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/strictyaml"
)

// maxFile bounds one file, in bytes.
const maxFile = 16 << 20

// Item is one object, ready to be sent. Exactly one of the requests is set.
type Item struct {
	Kind string
	Name string
	// Where is "file:line" of the start of the document.
	Where string

	// Cluster updates an existing cluster; this kind never creates one.
	Cluster *hubv1.UpdateClusterRequest
	Service *hubv1.ApplyServiceRequest
	Global  *hubv1.ApplyGlobalServiceRequest
	// Namespace creates or replaces a managed namespace.
	Namespace *hubv1.ApplyManagedNamespaceRequest
	// Request is what creates an object of the other kinds, and Set has one request for
	// each row of those that consist of rows. Management is who declares it.
	Request    proto.Message
	Set        []proto.Message
	Management *hubv1.Management

	// Access are the bindings that the object declares at its own place, as an item of the
	// kind AccessBinding; nil for none. Read returns them as items of their own.
	Access *Item

	// Stored are the secrets that stay as the hub has them; see StoredSecrets.
	Stored []string
	// NotActing are paths of fields that the hub does not support yet. Fields that
	// the hub stores without acting on them are in its answer.
	NotActing []string
}

// document is one YAML document with its position.
type document struct {
	where string
	data  []byte
	meta  struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
	}
}

// Read reads files and folders (recursively; *.yaml, *.yml, *.json), or standard
// input for "-". Errors are Invalid and name the position.
func Read(paths []string, stdin func() ([]byte, error)) ([]Item, error) {
	items, others, err := ReadForHub(paths, stdin)
	if len(others) > 0 {
		return nil, others[0]
	}
	return items, err
}

func readPath(path string, stdin func() ([]byte, error)) ([]document, error) {
	if path == "-" {
		data, err := stdin()
		if err != nil {
			return nil, errcode.New(errcode.Invalid, "read standard input: %w", err)
		}
		return split("standard input", data)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "%w", err)
	}
	if !info.IsDir() {
		return readFile(path)
	}
	var documents []document
	err = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)) {
			return nil
		}
		found, err := readFile(file)
		documents = append(documents, found...)
		return err
	})
	if err == nil && len(documents) == 0 {
		err = errcode.New(errcode.Invalid, "%s holds no .yaml, .yml or .json file", path)
	}
	return documents, err
}

func readFile(path string) ([]document, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxFile {
		return nil, errcode.New(errcode.Invalid, "%s has %d bytes; at most %d are allowed", path, info.Size(), maxFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "%w", err)
	}
	return split(path, data)
}

// split splits a file at its "---" lines and records where each document starts.
func split(file string, data []byte) ([]document, error) {
	var documents []document
	line, start := 1, 1
	var current bytes.Buffer
	flush := func() error {
		defer current.Reset()
		if len(bytes.TrimSpace(stripComments(current.Bytes()))) == 0 {
			return nil
		}
		d := document{where: file + ":" + itoa(start), data: bytes.Clone(current.Bytes())}
		if err := yaml.Unmarshal(d.data, &d.meta); err != nil {
			return errcode.New(errcode.Invalid, "%s: not valid YAML: %w", d.where, err)
		}
		documents = append(documents, d)
		return nil
	}
	for part := range bytes.Lines(data) {
		if strings.TrimRight(string(part), " \t\r\n") == "---" {
			if err := flush(); err != nil {
				return nil, err
			}
			start = line + 1
		} else {
			current.Write(part)
		}
		line++
	}
	return documents, flush()
}

func stripComments(data []byte) []byte {
	var kept []byte
	for part := range bytes.Lines(data) {
		if !bytes.HasPrefix(bytes.TrimSpace(part), []byte("#")) {
			kept = append(kept, part...)
		}
	}
	return kept
}

// itemsOf converts documents to items, in the order in which they need each other.
func itemsOf(documents []document) (items []Item, others []*Other, _ error) {
	values := files{secrets: map[string]corev1.Secret{}, configMaps: map[string]corev1.ConfigMap{}, sources: map[string]*FluxSource{}, connections: map[string]*v1alpha1.ScmConnection{}, providers: map[string]*v1alpha1.Provider{}, services: map[string]*v1alpha1.ServiceDeployment{}}
	for _, d := range documents {
		if err := values.add(d); err != nil {
			return nil, nil, err
		}
	}
	for _, d := range documents {
		if err := values.declare(d); err != nil {
			return nil, nil, err
		}
	}
	for _, d := range documents {
		item, err := d.read(values)
		if o, ok := errors.AsType[*Other](err); ok {
			others = append(others, o)
			continue
		}
		if err != nil {
			return nil, others, err
		}
		if item != nil {
			items = append(items, *item)
		}
	}
	ofFlux, err := values.repositories()
	if err != nil {
		return nil, nil, err
	}
	items = append(items, ofFlux...)
	items = merged(apart(items))
	slices.SortStableFunc(items, func(a, b Item) int { return cmp.Compare(place(a.Kind), place(b.Kind)) })
	return items, others, nil
}

// place is that of a kind in the order in which objects are made.
func place(kind string) int {
	if kind == "GitRepository" || kind == "HelmRepository" {
		kind = object.Repository.Name
	}
	return slices.IndexFunc(object.All, func(k object.Kind) bool { return k.Name == kind })
}

func (d document) strict(into any) error {
	if err := strictyaml.Decode(d.data, into); err != nil {
		return errcode.New(errcode.Invalid, "%s: %s %q: %w", d.where, d.meta.Kind, d.meta.Name, err)
	}
	return nil
}

// why returns what does not work for the document's kind, if Axle knows the kind.
func (d document) why() string {
	if k, ok := kinds.Of(kinds.Deployments, d.meta.Kind); ok && k.Level != kinds.Full {
		return ". " + strings.TrimSuffix(k.Says, ".")
	}
	return ""
}

func (d document) item(values Values) (*Item, error) {
	if d.holdsValues() {
		return nil, nil
	}
	if k, ok := kinds.Of(d.apiGroup(), d.meta.Kind); ok && k.Group == kinds.Platform {
		return nil, d.ofCluster()
	}
	ours := d.meta.APIVersion == axlev1alpha1.GroupVersion.String()
	if !ours && d.meta.APIVersion != v1alpha1.GroupVersion.String() {
		return nil, d.other(errcode.New(errcode.Invalid, "%s: %s %s %q is not in %s or %s; apply it to a cluster through a service's repository", d.where, d.meta.APIVersion, d.meta.Kind, d.meta.Name, v1alpha1.GroupVersion, axlev1alpha1.GroupVersion))
	}
	if d.meta.Name == "" {
		return nil, errcode.New(errcode.Invalid, "%s: %s has no metadata.name", d.where, d.meta.Kind)
	}
	if _, inFiles := values.(files); inFiles && ForOperator(d.meta.Kind) {
		return nil, d.forOperator()
	}
	if ours {
		return d.own(values)
	}
	if c, _ := converterOf(d.meta.Kind); c.read != nil {
		return c.read(own{d}, values)
	}
	switch d.meta.Kind {
	case "Project":
		return d.project()
	case "GitRepository":
		return d.repository(values)
	case "HelmRepository":
		return d.helmRepository(values)
	case "Cluster":
		return d.cluster(values)
	case "ServiceContext":
		return d.context(values)
	case "ServiceDeployment":
		return d.service(values)
	case "BootstrapToken", "ClusterSync", "FederatedCredential", "GeneratedSecret", "Group", "NamespaceCredentials", "OIDCProvider", "ServiceAccount":
		return d.ofOperator(values)
	case "DeploymentSettings":
		return d.deploymentSettings(values)
	case "Provider":
		return d.provider(values)
	case "ScmConnection":
		return d.scmConnection(values)
	case "GlobalService":
		return d.global(values)
	case "ManagedNamespace":
		return d.namespace(values)
	case "AgentConfiguration", "CustomHealth":
		return nil, d.ofCluster()
	default:
		return own{d}.described(values)
	}
}
