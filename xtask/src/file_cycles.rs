//! No two files of one crate import each other, not even through others. What counts is where a name is defined: a
//! path is followed through re-exports to that file, and a declaration `mod x;` or a re-export of a module's own
//! children is not an import. Neither is what tests use.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Item, ItemUse, UseTree, Visibility, visit::Visit};

use crate::{source_hash::files_below, workspace};

type ModuleId = usize;
type NamePath = Vec<String>;
/// The names that were looked up for one question: a name that leads to itself leads nowhere.
type Asked = BTreeSet<(ModuleId, String)>;

/// One name that a `use` brings into a module.
struct Import {
    name: String,
    path: NamePath,
    reexport: bool,
}

/// A module of a crate: a file, or a part of one.
struct Module {
    file: PathBuf,
    parent: Option<ModuleId>,
    children: BTreeMap<String, ModuleId>,
    /// Names of what is defined here.
    items: BTreeSet<String>,
    imports: Vec<Import>,
    /// Paths of `use path::*`.
    globs: Vec<NamePath>,
    /// Paths that the code names, with at least two parts.
    mentions: BTreeSet<NamePath>,
}

/// What a path leads to.
enum Target {
    Module(ModuleId),
    DefinedIn(PathBuf),
}

/// The modules of one crate, from one root file.
struct Crate {
    modules: Vec<Module>,
    /// Identifiers in the code of a file, without its `use` declarations.
    identifiers: BTreeMap<PathBuf, BTreeSet<String>>,
}

type Sources = BTreeMap<PathBuf, String>;
/// Which file uses which other, and one path that shows it.
type Edges = BTreeMap<PathBuf, BTreeMap<PathBuf, String>>;

impl Crate {
    fn read(sources: &Sources, root: &Path) -> Result<Self> {
        let mut read = Self { modules: Vec::new(), identifiers: BTreeMap::new() };
        read.read_file(sources, root, root.parent().unwrap_or(Path::new("")).to_path_buf(), None)?;
        Ok(read)
    }

    fn read_file(
        &mut self,
        sources: &Sources,
        file: &Path,
        folder: PathBuf,
        parent: Option<ModuleId>,
    ) -> Result<ModuleId> {
        let text = sources.get(file).with_context(|| format!("{} is not there", file.display()))?;
        let parsed = syn::parse_file(text).with_context(|| format!("cannot parse {}", file.display()))?;
        self.read_module(sources, file, folder, parent, parsed.items)
    }

    /// `folder` is where the files of the module's children are.
    fn read_module(
        &mut self,
        sources: &Sources,
        file: &Path,
        folder: PathBuf,
        parent: Option<ModuleId>,
        items: Vec<Item>,
    ) -> Result<ModuleId> {
        let id = self.modules.len();
        self.modules.push(Module {
            file: file.to_path_buf(),
            parent,
            children: BTreeMap::new(),
            items: BTreeSet::new(),
            imports: Vec::new(),
            globs: Vec::new(),
            mentions: BTreeSet::new(),
        });
        for item in items {
            match item {
                Item::Mod(module) if is_for_tests(&module.attrs) => {}
                Item::Mod(module) => {
                    let name = module.ident.to_string();
                    let child = match module.content {
                        Some((_, items)) => self.read_module(sources, file, folder.join(&name), Some(id), items)?,
                        None => {
                            let (file, folder) = file_of_module(sources, file, &folder, &name, &module.attrs)?;
                            self.read_file(sources, &file, folder, Some(id))?
                        }
                    };
                    self.module_mut(id)?.children.insert(name, child);
                }
                Item::Use(declaration) => self.declare(id, &declaration)?,
                item => self.read_item(id, file, &item)?,
            }
        }
        Ok(id)
    }

    fn read_item(&mut self, id: ModuleId, file: &Path, item: &Item) -> Result<()> {
        let mut inner = UsesInside(Vec::new());
        inner.visit_item(item);
        for declaration in &inner.0 {
            self.declare(id, declaration)?;
        }
        if let Some((name, exported)) = name_of(item) {
            self.module_mut(if exported { 0 } else { id })?.items.insert(name);
        }
        let identifiers = self.identifiers.entry(file.to_path_buf()).or_default();
        let mut mentions = BTreeSet::new();
        scan(item.to_token_stream(), identifiers, &mut mentions);
        self.module_mut(id)?.mentions.extend(mentions);
        Ok(())
    }

    fn declare(&mut self, id: ModuleId, declaration: &ItemUse) -> Result<()> {
        let reexport = !matches!(declaration.vis, Visibility::Inherited);
        let absolute = declaration.leading_colon.is_some();
        let module = self.module_mut(id)?;
        if !absolute {
            flatten(&declaration.tree, &mut Vec::new(), reexport, module);
        }
        Ok(())
    }

    fn module(&self, id: ModuleId) -> Option<&Module> {
        self.modules.get(id)
    }

    fn module_mut(&mut self, id: ModuleId) -> Result<&mut Module> {
        self.modules.get_mut(id).context("a module has an id")
    }

    /// Where a path leads from a module. Nothing: out of the crate.
    fn resolve(&self, from: ModuleId, path: &[String]) -> Option<Target> {
        self.follow(from, path, &mut Asked::new())
    }

    fn follow(&self, from: ModuleId, path: &[String], asked: &mut Asked) -> Option<Target> {
        let (first, mut rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => 0,
            "self" => from,
            "super" => {
                let mut at = self.module(from)?.parent?;
                while let Some(("super", left)) = rest.split_first().map(|(name, left)| (name.as_str(), left)) {
                    (at, rest) = (self.module(at)?.parent?, left);
                }
                at
            }
            name => match self.lookup(from, name, !rest.is_empty(), asked)? {
                Target::Module(id) => id,
                defined => return Some(defined),
            },
        };
        while let Some((name, left)) = rest.split_first() {
            match self.lookup(at, name, !left.is_empty(), asked) {
                Some(Target::Module(id)) => (at, rest) = (id, left),
                Some(defined) => return Some(defined),
                // A re-export of another crate's.
                None if self.module(at)?.imports.iter().any(|import| import.name == *name) => return None,
                // A macro has defined it.
                None => return Some(Target::DefinedIn(self.module(at)?.file.clone())),
            }
        }
        Some(Target::Module(at))
    }

    /// What a name means in a module. A module may have the name of a function: what follows the name decides.
    fn lookup(&self, id: ModuleId, name: &str, goes_on: bool, asked: &mut Asked) -> Option<Target> {
        let module = self.module(id)?;
        let child = module.children.get(name).copied().map(Target::Module);
        if goes_on && child.is_some() {
            return child;
        }
        if module.items.contains(name) {
            return Some(Target::DefinedIn(module.file.clone()));
        }
        if !asked.insert((id, name.to_owned())) {
            return child;
        }
        for import in module.imports.iter().filter(|import| import.name == name) {
            if let Some(found) = self.follow(id, &import.path, asked) {
                return Some(found);
            }
        }
        if child.is_some() {
            return child;
        }
        module.globs.iter().find_map(|glob| match self.follow(id, glob, asked)? {
            Target::Module(other) if other != id => self.lookup(other, name, goes_on, asked),
            _ => None,
        })
    }

    fn is_below(&self, id: ModuleId, ancestor: ModuleId) -> bool {
        let mut at = Some(id);
        while let Some(id) = at {
            if id == ancestor {
                return true;
            }
            at = self.module(id).and_then(|module| module.parent);
        }
        false
    }

    /// Whether a path leads into a child of the module.
    fn leads_down(&self, id: ModuleId, path: &[String]) -> bool {
        let leads = |length: usize| match path.get(..length).and_then(|part| self.resolve(id, part)) {
            Some(Target::Module(found)) => found != id && self.is_below(found, id),
            _ => false,
        };
        (1..=path.len()).any(leads)
    }

    fn edges(&self, edges: &mut Edges) {
        for (id, module) in self.modules.iter().enumerate() {
            let identifiers = self.identifiers.get(&module.file);
            let used = |name: &str| identifiers.is_some_and(|identifiers| identifiers.contains(name));
            let mut add = |path: &[String], target: Option<Target>| {
                if let Some(Target::DefinedIn(file)) = target
                    && file != module.file
                {
                    let paths = edges.entry(module.file.clone()).or_default();
                    paths.entry(file).or_insert_with(|| path.join("::"));
                }
            };
            for import in &module.imports {
                if !import.reexport || !self.leads_down(id, &import.path) || used(&import.name) {
                    add(&import.path, self.resolve(id, &import.path));
                }
            }
            for path in &module.mentions {
                add(path, self.resolve(id, path));
            }
            for glob in &module.globs {
                let Some(Target::Module(from)) = self.resolve(id, glob) else {
                    add(glob, self.resolve(id, glob));
                    continue;
                };
                for name in self.names(from, &mut BTreeSet::new()).into_iter().filter(|name| used(name)) {
                    let path: NamePath = glob.iter().cloned().chain([name.clone()]).collect();
                    add(&path, self.lookup(from, &name, false, &mut Asked::new()));
                }
            }
        }
    }

    /// The names that `use module::*` may bring.
    fn names(&self, id: ModuleId, asked: &mut BTreeSet<ModuleId>) -> BTreeSet<String> {
        let Some(module) = self.module(id).filter(|_| asked.insert(id)) else { return BTreeSet::new() };
        let mut names: BTreeSet<String> = module.items.clone();
        names.extend(module.imports.iter().map(|import| import.name.clone()));
        for glob in &module.globs {
            if let Some(Target::Module(other)) = self.resolve(id, glob) {
                names.extend(self.names(other, asked));
            }
        }
        names
    }
}

/// `use` declarations inside of functions.
struct UsesInside(Vec<ItemUse>);

impl Visit<'_> for UsesInside {
    fn visit_item_use(&mut self, declaration: &ItemUse) {
        self.0.push(declaration.clone());
    }
}

fn flatten(tree: &UseTree, path: &mut NamePath, reexport: bool, module: &mut Module) {
    match tree {
        UseTree::Path(part) => {
            path.push(part.ident.to_string());
            flatten(&part.tree, path, reexport, module);
            path.pop();
        }
        UseTree::Name(last) => {
            let name = last.ident.to_string();
            let whole: NamePath = match name.as_str() {
                "self" => path.clone(),
                _ => path.iter().cloned().chain([name]).collect(),
            };
            let name = whole.last().cloned().unwrap_or_default();
            module.imports.push(Import { name, path: whole, reexport });
        }
        UseTree::Rename(last) => {
            let name = last.ident.to_string();
            let end = Some(name).filter(|name| name != "self");
            let whole = path.iter().cloned().chain(end).collect();
            module.imports.push(Import { name: last.rename.to_string(), path: whole, reexport });
        }
        UseTree::Glob(_) => module.globs.push(path.clone()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, path, reexport, module)),
    }
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        _ => false,
    })
}

/// The name that an item defines, and whether it stands at the root of the crate.
fn name_of(item: &Item) -> Option<(String, bool)> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Macro(item) => {
            let exported = item.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export"));
            return item.ident.as_ref().map(|name| (name.to_string(), exported));
        }
        _ => return None,
    };
    Some((name.to_string(), false)).filter(|(name, _)| name != "_")
}

/// Collects identifiers, and paths of several parts; `a::{b, c::d}` is two of them.
fn scan(tokens: TokenStream, identifiers: &mut BTreeSet<String>, mentions: &mut BTreeSet<NamePath>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let colons = |at: usize| {
        let colon = |at: usize, spacing: Option<Spacing>| match tokens.get(at) {
            Some(TokenTree::Punct(mark)) => mark.as_char() == ':' && spacing.is_none_or(|s| mark.spacing() == s),
            _ => false,
        };
        colon(at, Some(Spacing::Joint)) && colon(at.saturating_add(1), None)
    };
    let mut at = 0;
    let mut path: NamePath = Vec::new();
    // The rest of a path that starts outside of the crate or with a type, as in `<T as X>::name`.
    let mut foreign = false;
    while let Some(token) = tokens.get(at) {
        let next = at.saturating_add(1);
        match token {
            TokenTree::Ident(name) => {
                let name = name.to_string();
                identifiers.insert(name.clone());
                path.push(name);
                if colons(next) {
                    at = next.saturating_add(2);
                    continue;
                }
                if path.len() > 1 && !foreign {
                    mentions.insert(std::mem::take(&mut path));
                }
            }
            TokenTree::Group(group) => {
                let mut inner = BTreeSet::new();
                scan(group.stream(), identifiers, &mut inner);
                if group.delimiter() == Delimiter::Brace && !path.is_empty() && !foreign {
                    let leaves: Vec<NamePath> = leaves(group.stream());
                    let join = |leaf: NamePath| path.iter().cloned().chain(leaf).collect();
                    mentions.extend(leaves.into_iter().map(join));
                } else {
                    mentions.extend(inner);
                }
            }
            TokenTree::Punct(_) if colons(at) => {
                foreign = true;
                path.clear();
                at = at.saturating_add(2);
                continue;
            }
            TokenTree::Punct(_) if path.len() > 1 && !foreign => {
                mentions.insert(std::mem::take(&mut path));
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
        path.clear();
        foreign = false;
        at = next;
    }
}

/// The paths in the braces of a `use` that stands inside of a function.
fn leaves(tokens: TokenStream) -> Vec<NamePath> {
    let Ok(tree) = syn::parse2::<UseTree>(quote::quote!({ #tokens })) else { return Vec::new() };
    let mut module = Module {
        file: PathBuf::new(),
        parent: None,
        children: BTreeMap::new(),
        items: BTreeSet::new(),
        imports: Vec::new(),
        globs: Vec::new(),
        mentions: BTreeSet::new(),
    };
    flatten(&tree, &mut Vec::new(), false, &mut module);
    module.imports.into_iter().map(|import| import.path).collect()
}

/// The file of `mod name;` and the folder of its children.
fn file_of_module(
    sources: &Sources,
    declared_in: &Path,
    folder: &Path,
    name: &str,
    attributes: &[syn::Attribute],
) -> Result<(PathBuf, PathBuf)> {
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("path")) {
        if let syn::Meta::NameValue(value) = &attribute.meta
            && let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) = &value.value
        {
            let file = normal(&declared_in.parent().unwrap_or(Path::new("")).join(path.value()));
            let folder = file.parent().unwrap_or(Path::new("")).to_path_buf();
            return Ok((file, folder));
        }
    }
    let below = folder.join(name);
    [folder.join(format!("{name}.rs")), below.join("mod.rs")]
        .into_iter()
        .find(|file| sources.contains_key(file))
        .map(|file| (file, below))
        .with_context(|| format!("{}: no file of `mod {name};`", declared_in.display()))
}

/// A path without `..`.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut normal, part| {
        match part {
            std::path::Component::ParentDir => drop(normal.pop()),
            part => normal.push(part),
        }
        normal
    })
}

/// The root files of a package: its library, programs and tests.
fn roots(sources: &Sources) -> Vec<&Path> {
    let is_root = |file: &Path| {
        let names: Vec<_> = file.iter().filter_map(std::ffi::OsStr::to_str).collect();
        matches!(names.as_slice(), ["build.rs"] | ["src", "lib.rs" | "main.rs"] | ["src", "bin", _])
            || matches!(names.as_slice(), ["src", "bin", _, "main.rs"] | ["tests" | "benches", _])
            || matches!(names.as_slice(), ["tests" | "benches", _, "main.rs"])
    };
    sources.keys().map(PathBuf::as_path).filter(|file| is_root(file)).collect()
}

/// Every group of files of a package that import each other, with what they import.
fn cycles(sources: &Sources) -> Result<Vec<String>> {
    let mut edges = Edges::new();
    for root in roots(sources) {
        Crate::read(sources, root)?.edges(&mut edges);
    }
    let reached: BTreeMap<&Path, BTreeSet<&Path>> =
        edges.keys().map(|file| (file.as_path(), reach(&edges, file))).collect();
    let reaches = |from: &Path, to: &Path| reached.get(from).is_some_and(|files| files.contains(to));
    let mut found: BTreeMap<BTreeSet<&Path>, Vec<String>> = BTreeMap::new();
    for (file, imports) in &edges {
        let group: BTreeSet<&Path> =
            edges.keys().map(PathBuf::as_path).filter(|other| reaches(file, other) && reaches(other, file)).collect();
        let inside = imports.iter().filter(|(other, _)| group.contains(other.as_path()));
        let line = |(other, path): (&PathBuf, &String)| format!("  {} -> {} ({path})", file.display(), other.display());
        let lines: Vec<String> = inside.map(line).collect();
        if !group.is_empty() {
            found.entry(group).or_default().extend(lines);
        }
    }
    Ok(found.into_values().map(|lines| lines.join("\n")).collect())
}

/// The files that a file imports, and those that these import. The file itself is one of them in a cycle.
fn reach<'a>(edges: &'a Edges, file: &Path) -> BTreeSet<&'a Path> {
    let (mut found, mut waiting) = (BTreeSet::new(), vec![file]);
    while let Some(next) = waiting.pop() {
        for other in edges.get(next).into_iter().flat_map(BTreeMap::keys) {
            if found.insert(other.as_path()) {
                waiting.push(other);
            }
        }
    }
    found
}

/// The Rust files of a package, by their path in it.
fn sources_of(package: &Path) -> Result<Sources> {
    let mut sources = Sources::new();
    for folder in ["src", "tests", "benches"].map(|name| package.join(name)).into_iter().filter(|path| path.is_dir()) {
        for file in files_below(&folder)?.into_iter().filter(|file| file.extension().is_some_and(|end| end == "rs")) {
            sources.insert(file.strip_prefix(package)?.to_path_buf(), fs::read_to_string(&file)?);
        }
    }
    Ok(sources)
}

/// The cycles of every package of the workspace.
fn cycles_of_workspace() -> Result<Vec<String>> {
    let mut found = Vec::new();
    for folder in workspace::members()? {
        let cycles = cycles(&sources_of(&workspace::root().join(&folder))?).with_context(|| folder.clone())?;
        found.extend(cycles.into_iter().map(|cycle| format!("{folder}:\n{cycle}")));
    }
    Ok(found)
}

#[test]
fn no_two_files_of_one_crate_import_each_other() {
    let found = cycles_of_workspace().unwrap_or_else(|error| vec![format!("{error:#}")]);
    assert!(found.is_empty(), "files that import each other:\n{}", found.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let sources = files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect();
        cycles(&sources).expect("sources are read")
    }

    #[test]
    fn two_files_that_import_each_other_are_named_with_what_they_import() {
        let found = found(&[
            ("src/lib.rs", "mod a; mod b;"),
            ("src/a.rs", "use crate::b::B; pub struct A(B);"),
            ("src/b.rs", "pub struct B; fn f() { let _ = super::a::A::new(); }"),
        ]);
        assert_eq!(
            found,
            ["  src/a.rs -> src/b.rs (crate::b::B)\n  src/b.rs -> src/a.rs (super::a::A::new)"],
            "an import and a path in the code"
        );
    }

    #[test]
    fn a_cycle_of_three_files_is_one_finding() {
        let found = found(&[
            ("src/lib.rs", "mod a; mod b; mod c;"),
            ("src/a.rs", "use crate::b::B; pub struct A;"),
            ("src/b.rs", "use crate::c::C; pub struct B;"),
            ("src/c.rs", "use crate::a::A; pub struct C;"),
        ]);
        assert_eq!(found.len(), 1);
        assert_eq!(found.concat().lines().count(), 3);
    }

    #[test]
    fn imports_in_one_direction_are_no_cycle() {
        let files = [
            ("src/lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
            ("src/a.rs", "pub struct A; #[cfg(test)] mod tests;"),
            ("src/a/tests.rs", "use super::*; fn f(_: A) {}"),
            ("src/b.rs", "use crate::A; pub struct B(A);"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }

    #[test]
    fn a_name_is_followed_through_re_exports_to_the_file_that_defines_it() {
        let found = found(&[
            ("src/lib.rs", "mod outer; mod user; pub use outer::Inner;"),
            ("src/outer/mod.rs", "mod inner; pub use self::inner::*;"),
            ("src/outer/inner.rs", "use crate::user::User; pub struct Inner(User);"),
            ("src/user.rs", "use crate::Inner; pub struct User; fn f(_: Inner) {}"),
        ]);
        assert_eq!(found.len(), 1);
        assert!(found.concat().contains("src/user.rs -> src/outer/inner.rs (crate::Inner)"), "{found:?}");
    }

    #[test]
    fn a_parent_that_only_re_exports_its_child_does_not_import_it() {
        let child = ("src/child.rs", "use super::Parent; pub struct Child(Parent);");
        let parent = "mod child; pub use child::Child; pub struct Parent;";
        assert_eq!(found(&[("src/lib.rs", parent), child]), Vec::<String>::new());
        let using = "mod child; pub use child::Child; pub struct Parent; fn f(_: Child) {}";
        assert_eq!(found(&[("src/lib.rs", using), child]).len(), 1, "one that uses it does");
    }

    #[test]
    fn uses_through_a_module_or_a_glob_or_a_macro_are_imports() {
        let b = ("src/b.rs", "use crate::a::A; pub struct B; pub fn b(_: A) {}");
        for a in [
            "use crate::b; pub struct A; fn f() { b::b(A) }",
            "use crate::b::*; pub struct A; fn f(_: B) {}",
            "pub struct A; fn f() { println!(\"{}\", crate::b::b(A)) }",
            "pub struct A; fn f() { use super::b::{B, b}; b(A) }",
            "use super::b as other; pub struct A; type T = Vec<other::B>;",
        ] {
            assert_eq!(found(&[("src/lib.rs", "mod a; mod b;"), ("src/a.rs", a), b]).len(), 1, "{a}");
        }
    }

    #[test]
    fn what_tests_use_is_no_import() {
        let files = [
            ("src/lib.rs", "mod a; mod b;"),
            ("src/a.rs", "pub struct A; #[cfg(test)] mod tests { use crate::b::B; }"),
            ("src/b.rs", "use crate::a::A; pub struct B(A);"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }

    #[test]
    fn names_of_other_crates_are_not_the_crates_own() {
        let files = [
            ("src/lib.rs", "mod a; mod b;"),
            ("src/a.rs", "use ::b::B; use std::fmt; pub struct A; fn f() -> fmt::Result { <A as T>::b::x() }"),
            ("src/b.rs", "use crate::a::A; pub struct B(A);"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }
}
