package backend

import (
	"fmt"
	"os"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
)

// Declared is one backend of a file.
type Declared struct {
	Name string `json:"name"`
	// Type is vault, kubernetes, aws, gcp, azure or sops, and names the block
	// with the settings.
	Type string `json:"type"`
	// Prefix starts the paths of the hub's own documents.
	Prefix *string `json:"prefix,omitempty"`
	// Allow are the path prefixes that services may refer to.
	Allow []string `json:"allow,omitempty"`

	Vault      *VaultConfig      `json:"vault,omitempty"`
	Kubernetes *KubernetesConfig `json:"kubernetes,omitempty"`
	AWS        *AWSConfig        `json:"aws,omitempty"`
	GCP        *GCPConfig        `json:"gcp,omitempty"`
	Azure      *AzureConfig      `json:"azure,omitempty"`
	SOPS       *SOPSConfig       `json:"sops,omitempty"`

	Backend config.Backend `json:"-"`
}

// File is what --config-backends points at.
type File struct {
	// Default is the initial backend for values; empty is the hub's database.
	Default string `json:"default,omitempty"`
	// Refresh is a duration such as "2m".
	Refresh  string     `json:"refresh,omitempty"`
	Backends []Declared `json:"backends"`

	RefreshEvery time.Duration `json:"-"`
}

// Load reads a file and creates its backends. Errors are Invalid and name the
// backend.
func Load(path string, files Files) (File, error) {
	var f File
	text, err := os.ReadFile(path)
	if err != nil {
		return f, errcode.New(errcode.Invalid, "--config-backends: %w", err)
	}
	if err := yaml.UnmarshalStrict(text, &f); err != nil {
		return f, errcode.New(errcode.Invalid, "--config-backends %s: %w", path, err)
	}
	if f.Refresh != "" {
		if f.RefreshEvery, err = time.ParseDuration(f.Refresh); err != nil || f.RefreshEvery < time.Second {
			return f, errcode.New(errcode.Invalid, "--config-backends %s: refresh: %q must be a duration of at least a second, such as 2m", path, f.Refresh)
		}
	}
	for i := range f.Backends {
		d := &f.Backends[i]
		if !rule.Label.Valid(d.Name) {
			return f, errcode.New(errcode.Invalid, "--config-backends %s: backends[%d].name: %.80q is not a name; use %s", path, i, d.Name, rule.Label.Words)
		}
		if err := d.make(files); err != nil {
			return f, errcode.New(errcode.Of(err), "--config-backends %s: backend %s: %w", path, d.Name, err)
		}
	}
	return f, nil
}

// make sets Backend.
func (d *Declared) make(files Files) (err error) {
	prefix := "axle-"
	switch {
	case d.Type == "vault" && d.Vault != nil:
		prefix = "axle/"
		d.Backend, err = NewVault(*d.Vault)
	case d.Type == "kubernetes" && d.Kubernetes != nil:
		d.Backend, err = NewKubernetes(*d.Kubernetes)
	case d.Type == "aws":
		if d.AWS == nil {
			d.AWS = &AWSConfig{}
		}
		prefix = "axle/"
		d.Backend, err = NewAWS(*d.AWS)
	case d.Type == "gcp" && d.GCP != nil:
		d.Backend, err = NewGCP(*d.GCP)
	case d.Type == "azure" && d.Azure != nil:
		d.Backend, err = NewAzure(*d.Azure)
	case d.Type == "sops" && d.SOPS != nil:
		d.SOPS.Files = files
		d.Backend, err = NewSOPS(*d.SOPS)
	default:
		return errcode.New(errcode.Invalid, "type: %.40q is not one of vault, kubernetes, aws, gcp, azure and sops, or the block of that name is missing", d.Type)
	}
	if err != nil {
		return fmt.Errorf("%s.%w", d.Type, err)
	}
	if d.Prefix == nil {
		d.Prefix = &prefix
	}
	return nil
}
