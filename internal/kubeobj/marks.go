package kubeobj

// Marks of our objects. The label selects watches; the two annotations decide
// ownership: controllers (Endpoints, operators) copy labels, and a copied annotation
// names an object other than its own.
const (
	// FieldManager is the name under which the agent applies.
	FieldManager = "axle-agent"
	// ManagedLabel holds the id of the cluster whose agent applies the object.
	ManagedLabel = "axle-cd.github.io/managed"
	// ServiceAnnotation holds the id of the service that renders the object.
	ServiceAnnotation = "axle-cd.github.io/service"
	// TrackingAnnotation holds Ref.Tracking of its own object.
	TrackingAnnotation = "axle-cd.github.io/tracking"
	// OwningInventory is added to custom resources of OwningInventoryGroup, for tools
	// that use it to find their parent.
	OwningInventory = "config.k8s.io/owning-inventory"
	// OwningInventoryGroup is the group that gets OwningInventory.
	OwningInventoryGroup = "deployments.plural.sh"
	// CreatedForAnnotation is on namespaces that were created for a service, not
	// rendered by one. It holds the service's id.
	CreatedForAnnotation = "axle-cd.github.io/created-for"
	// DeadlineAnnotation says on an object how long it may be Progressing before
	// it is Degraded, such as "10m", for kinds without a deadline of their own.
	DeadlineAnnotation = "axle-cd.github.io/progress-deadline"
	// IdentityAnnotation is on objects that run once per revision and differ each
	// time they are rendered: it identifies them without the differing parts.
	IdentityAnnotation = "axle-cd.github.io/run-identity"
	// ApplySetLabel is on objects that another tool prunes with its own inventory.
	ApplySetLabel = "applyset.kubernetes.io/part-of"
)
