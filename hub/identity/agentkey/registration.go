package agentkey

// Registration is what an agent sends to register.
type Registration struct {
	// PublicKey is Ed25519, 32 bytes.
	PublicKey []byte
	// ClusterUID is the uid of the cluster's kube-system namespace.
	ClusterUID string
	// Name is the wanted name; empty when the token fixes it.
	Name         string
	Tags         map[string]string
	BootID       string
	AgentVersion string
	// Source is the agent's address.
	Source string
	// Proof is the signature over "axle-register\n" + ClusterUID + "\n" +
	// BootID by the private half.
	Proof []byte
}

// Registered is the answer to a Registration.
type Registered struct {
	ClusterID   string
	ClusterName string
	// DeployToken is shown once.
	DeployToken          string
	DeployTokenExpiresAt int64
	// SigningKeys are all keys in force. Signature and More sign their KeysPayload,
	// as in Renewed: a bootstrap token may name a key that was retired since.
	SigningKeys []SigningKey
	Signature   Signature
	More        []Signature
	// Pending clusters wait for a person's approval.
	Pending bool
}

// Renewal is a signed request for a new deploy token.
type Renewal struct {
	ClusterID  string
	ClusterUID string
	BootID     string
	// At is microseconds since 1970 UTC.
	At int64
	// Nonce is 16 random bytes.
	Nonce []byte
	// Signature is over "axle-renew\n" + ClusterID + "\n" + ClusterUID + "\n"
	// + BootID + "\n" + decimal At + "\n" + hex Nonce.
	Signature []byte
}

// Renewed is the answer to a Renewal.
type Renewed struct {
	DeployToken          string
	DeployTokenExpiresAt int64
	// SigningKeys are all keys in force; Signature signs their KeysPayload.
	SigningKeys []SigningKey
	Signature   Signature
	// More are signatures of the same payload by other keys that an agent may know.
	More []Signature
}

// Enrollment is what Clusters needs for a new agent.
type Enrollment struct {
	// ClusterID is set when the token is fixed to a cluster.
	ClusterID    string
	Name         string
	ProjectID    string
	Tags         map[string]string
	ClusterUID   string
	AgentVersion string
	Pending      bool
	// FleetWide is set when the maker of the token may write the whole hub.
	FleetWide bool
	// By is the token's creator, for the event.
	By string
}

// Enrolled is the cluster of an Enrollment.
type Enrolled struct {
	ClusterID string
	Name      string
	Pending   bool
}
