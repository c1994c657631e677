"""What SQLAlchemy's tests may ask of mpga: reading, without transactions, keys and constraints."""

from __future__ import annotations

from typing import Any

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements


def _open(self: SuiteRequirements) -> Any:
    return exclusions.open()


def _closed(self: SuiteRequirements) -> Any:
    return exclusions.closed()


HAS = """
    binary_comparisons binary_literals bound_limit_offset cast_precision_numerics_many_significant_digits ctes
    ctes_with_values date date_coerces_from_datetime date_historic datetime datetime_historic datetime_interval
    datetime_literals datetime_microseconds datetime_timezone empty_strings_varchar except_
    fetch_null_from_numeric float_is_numeric foreign_key_ddl foreign_keys intersect literal_float_coercion
    mod_operator_as_percent_sign nullsordering offset order_by_col_from_union precision_generic_float_type
    precision_numerics_many_significant_digits precision_numerics_retains_significant_digits regexp_match
    regexp_replace sql_expression_limit_offset standalone_binds supports_distinct_on text_type time
    time_microseconds timestamp_microseconds tuple_in unicode_connections unicode_data
    unicode_data_no_special_types unicode_ddl window_functions window_range
    """.split()

HAS_NOT = """
    array_type autocommit autoincrement_insert autoincrement_without_sequence computed_columns delete_returning
    duplicate_key_raises_integrity_error empty_inserts empty_inserts_executemany fetch_first
    fetch_offset_with_options fetch_percent fetch_ties foreign_key_constraint_name_reflection
    foreign_key_constraint_reflection has_temp_table identity_columns implements_get_lastrowid
    independent_connections index_ddl_if_exists index_reflection inline_check_constraint_reflection
    insert_executemany_returning insert_from_select insert_returning json_type named_constraints
    non_updating_cascade on_update_cascade percent_schema_names primary_key_constraint_reflection
    reflects_pk_names sane_multi_rowcount sane_rowcount savepoints schema_create_delete schemas
    self_referential_foreign_keys sequences table_ddl_if_exists temp_table_names temp_table_reflection
    temporary_tables temporary_views two_phase_transactions unbounded_varchar unique_constraint_reflection
    unique_constraints_reflect_as_index update_from update_returning update_where_target_in_subquery
    uuid_data_type view_column_reflection view_reflection views
    """.split()


class Requirements(SuiteRequirements):
    """The exclusions are by the names that the suite has for them."""


for names, rule in ((HAS, _open), (HAS_NOT, _closed)):
    for name in names:
        setattr(Requirements, name, property(rule))
